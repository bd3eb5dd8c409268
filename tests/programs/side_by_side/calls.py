import builtins; profile = getattr(builtins, "profile", lambda thing: thing)

def join(*words, end=""):
    return "-".join(map(str, words)) + end

@profile
def build(n):
    text = join(                # HITS: 10
        n,
        join(
            n + 1,
            n + 2,
        ),
        end=".",
    )
    return {                    # HITS: 10
        "text": text,
        "length": len(
            text
        ),
    }

print([build(n)["length"] for n in range(10)])
