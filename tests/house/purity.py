"""Pure modules ask nothing of the machine.

A pure module's library may need no symbol that reads a clock, opens a socket or a file, starts or
awaits a thread, reads the environment or draws entropy. The layering check reads what a module
says; this one reads what the compiler made of it.
"""

import re
import subprocess
from pathlib import Path

import tree

# What each symbol would be asked for, by its demangled name without parameters.
FORBIDDEN = {
    "the clock": r"clock_\w+|clock|gettimeofday|time|timespec_get|(?:local|gm)time(?:_r)?|ftime"
                 r"|std::chrono::_V2::\w+::now|timerfd_\w+|timer_\w+|setitimer|alarm",
    "to sleep": r"sleep|usleep|nanosleep|clock_nanosleep|pause|sched_yield",
    "a socket": r"socket|socketpair|bind|listen|accept4?|connect|shutdown|[gs]etsockopt"
                r"|send(?:to|m?msg|file)?|recv(?:from|m?msg)?|getaddrinfo|gethostby\w+"
                r"|select|p?poll|epoll_\w+|eventfd|io_uring_\w+|ngtcp2_\w+",
    "a thread": r"pthread_\w+|thrd_\w+|mtx_\w+|cnd_\w+|sem_\w+|fork|vfork|clone|posix_spawnp?"
                r"|std::(?:thread|jthread|mutex|recursive_mutex|shared_mutex|condition_variable\w*"
                r"|this_thread|__future_base|__atomic_futex_unsigned_base)\b.*"
                r"|std::__condvar\b.*",
    "a file": r"f?open(?:at)?(?:64)?|creat(?:64)?|f(?:re|d)open(?:64)?"
              r"|tmpfile(?:64)?|mkstemp(?:64)?"
              r"|p?read(?:v2?)?(?:64)?|p?write(?:v2?)?(?:64)?|f?stat(?:at|x)?(?:64)?|f(?:data)?sync"
              r"|mmap(?:64)?|munmap|unlink(?:at)?|rename(?:at2?)?|mkdir(?:at)?"
              r"|opendir|readdir(?:64)?"
              r"|std::(?:__\w+::)?(?:basic_)?[iof]*(?:fstream|filebuf)\b.*|std::filesystem\b.*"
              r"|dlopen|dlsym|syscall|ioctl|system|popen|exec[lv]\w*",
    "the environment": r"(?:secure_|__secure_)?getenv|setenv|putenv|unsetenv|clearenv|environ"
                       r"|__environ|getpid|gethostname|getuid|uname|sysconf|sysinfo",
    # Random bytes come from a seed, so that a run can be repeated; GnuTLS has a source of its own.
    "entropy": r"rand|srand|rand_r|random|srandom|[dejlmn]+rand48|arc4random\w*|getrandom"
               r"|getentropy|std::random_device\b.*|gnutls_rnd",
}
# A symbol as nm names it: with parameters where it is C++, with a version where it is linked.
PATTERNS = {what: re.compile(rf"(?:__)?(?:{names})(?:_chk|_2)?(?:\(.*)?(?:@.*)?")
            for what, names in FORBIDDEN.items()}


def needed(archive: Path) -> set[str]:
    listing = subprocess.run(["nm", "--undefined-only", "--demangle", str(archive)],
                             capture_output=True, check=True, text=True).stdout
    return {match[1] for match in re.finditer(r"^\s+[Uwv] (.+)$", listing, re.MULTILINE)}


def asks_for(symbol: str) -> str | None:
    """What of the machine the symbol reaches, or None."""
    return next((what for what, pattern in PATTERNS.items() if pattern.fullmatch(symbol)), None)


def check(source: Path, build: Path) -> list[str]:
    del source
    complaints = []
    for module in tree.modules(build):
        if not module["pure"] or not module["archive"]:
            continue
        archive = Path(module["archive"])
        if not archive.is_file():
            complaints.append(f"{module['name']}: {archive} has not been built")
            continue
        for symbol in sorted(needed(archive)):
            if what := asks_for(symbol):
                complaints.append(f"{module['name']}: is pure and asks for {what}: {symbol}")
    return complaints


if __name__ == "__main__":
    tree.run(check)
