import builtins; profile = getattr(builtins, "profile", lambda thing: thing)
import asyncio

@profile
async def ticks():
    for i in range(10):                     # HITS: 3
        try:                                # HITS: 3
            await asyncio.sleep(0)          # HITS: 3
            yield i                         # HITS: 3
        except ValueError:                  # HITS: 2
            print("thrown into")            # HITS: 1

@profile
async def main():
    generator = ticks()                             # HITS: 1
    print(await anext(generator))                   # HITS: 1
    print(await generator.athrow(ValueError()))     # HITS: 1
    print(await generator.asend(None))              # HITS: 1
    await generator.aclose()                        # HITS: 1
    return "done"                                   # HITS: 1

print(asyncio.run(main()))
