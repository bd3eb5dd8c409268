"""Find the pages of a web server's log that fail most, and the slowest: a time problem."""

from collections import Counter, defaultdict

from proftrace import profile


def write_log(lines):  # as a server would write it
    pages = "/", "/search?q=tea", "/cart", "/cart/pay", "/img/logo.png", "/account"
    for n in range(lines):
        page = pages[n * n % len(pages)]
        status = 500 if page == "/cart/pay" and n % 7 == 0 else 404 if n % 97 == 0 else 200
        yield f'10.0.{n % 256}.{n % 13} - - "GET {page} HTTP/1.1" {status} {n % 4096} {n % 311}ms'


@profile
def parse(line):
    _, request, answer = line.split('"')
    path = request.split()[1].partition("?")[0]
    status, _, took = answer.split()
    return path, int(status), int(took.removesuffix("ms"))


@profile
def report(lines):
    failures = Counter()
    times = defaultdict(list)
    for line in lines:
        path, status, took = parse(line)
        if status >= 500:
            failures[path] += 1
        times[path].append(took)
    slowest = max(times, key=lambda path: sorted(times[path])[len(times[path]) // 2])
    return failures.most_common(3), slowest


if __name__ == "__main__":
    failing, slowest = report(write_log(40_000))
    print(f"{failing=} {slowest=}")
