"""Python's urllib: a new connection for each request, with `Connection: close`."""

import sys
import urllib.error
import urllib.request

END = "&user.name=alice"


def ask(method: str, url: str) -> bool:
    """Return whether the call succeeded."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, method=method)) as response:
            response.read()
            return bool(response.status == 200)
    except (urllib.error.URLError, OSError) as error:
        sys.stderr.write(f"{method} {url}: {error}\n")
        return False


def main(count: int, *roots: str) -> None:
    """Poll and write below each root."""
    for root in roots:
        read = sum(ask("GET", f"{root}/f?op=GETFILESTATUS{END}") for _ in range(count))
        written = sum(
            ask("POST", f"{root}/g?op=TRUNCATE&newlength=0{END}")
            if number % 2
            else ask("PUT", f"{root}/w{number}?op=MKDIRS{END}")
            for number in range(count)
        )
        sys.stdout.write(f"{read} {written}\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
