"""Pure modules ask nothing of the machine.

A pure module's library may need no symbol that reads a clock, opens a socket or a file, starts or
awaits a thread, reads the environment or draws entropy. It may keep no state either: no global, no
thread_local and no static in a function that is not a constant. One that is made when it is first
asked for (`static const std::map`) has a guard that is written, and is state. Nor may it hold an
instruction that asks past all symbols. What is exempt is named below, with why. The layering check reads what a module says; this one reads
what the compiler made of it.
"""

import re
import subprocess
from pathlib import Path

import tree

# What each symbol would be asked for, by its demangled name without parameters.
FORBIDDEN = {
    "the clock": r"clock_\w+|clock|gettimeofday|time|timespec_get|(?:local|gm)time(?:_r)?|ftime"
                 r"|std::chrono::_V2::\w+::now|settimeofday|adjtimex|timerfd_\w+|timer_\w+|[gs]etitimer|alarm|times|ntp_\w+"
                 # Where it is, and what time it is there.
                 r"|mktime|timelocal|asctime(?:_r)?|ctime(?:_r)?|strftime(?:_l)?|wcsftime|tzset"
                 r"|tzname|timezone|daylight"
                 r"|std::chrono::(?:current_zone|locate_zone|(?:get|reload)_tzdb(?:_list)?)\b.*",
    "to sleep": r"sleep|usleep|nanosleep|clock_nanosleep|pause|sched_yield",
    "a socket": r"socket|socketpair|bind|listen|accept4?|connect|shutdown|[gs]etsockopt"
                r"|send(?:to|m?msg|file)?|recv(?:from|m?msg)?|getaddrinfo(?:_a)?|getnameinfo|gethostby\w+"
                r"|(?:get|set|end)(?:host|net|serv|proto)ent(?:_r)?"
                r"|getifaddrs|if_(?:nametoindex|indextoname|nameindex)|res_n?\w+|curl_\w+"
                r"|get(?:sock|peer)name|getservby\w+"
                r"|select|p?poll|epoll_\w+|eventfd|io_uring_\w+|ngtcp2_\w+",
    "a thread": r"pthread_\w+|thrd_\w+|mtx_\w+|cnd_\w+|sem_\w+|fork|vfork|clone|posix_spawnp?"
                r"|std::(?:thread|jthread|mutex|recursive_mutex|shared_mutex|condition_variable\w*"
                r"|this_thread|__future_base|__atomic_futex_unsigned_base)\b.*"
                r"|std::__condvar\b.*|GOMP_\w+|omp_\w+",
    "a file": r"f?open(?:at)?(?:64)?|creat(?:64)?|f(?:re|d)open(?:64)?|f?close|fread"
              r"|fseeko?(?:64)?"
              r"|tmpfile(?:64)?|tmpnam(?:_r)?|tempnam|mkd?o?s?temps?(?:64)?|memfd_create"
              r"|p?read(?:v2?)?(?:64)?|p?write(?:v2?)?(?:64)?|f(?:data)?sync|sync(?:fs)?"
              r"|[fl]?x?stat(?:at|x|v?fs)?(?:64)?|[fl]?statv?fs(?:64)?|lseek(?:64)?|dup[23]?|pipe2?"
              r"|(?:f|e|euid)?access(?:at)?|f?chmod(?:at)?|[fl]?chown(?:at)?|umask"
              r"|f?truncate(?:64)?"
              r"|mmap(?:64)?|munmap|msync|mlock\w*|shm_\w+|fcntl(?:64)?|flock|lockf(?:64)?"
              r"|unlink(?:at)?|remove|rename(?:at2?)?|rmdir|mkdir(?:at)?|mk(?:fifo|nod)(?:at)?"
              r"|readlink(?:at)?|(?:sym)?link(?:at)?|realpath|canonicalize_file_name|f?chdir|chroot"
              r"|getw?cwd|getwd|get_current_dir_name|f?utimes?|futimens|utimensat"
              r"|posix_f\w+|fallocate|copy_file_range|splice|f?opendir|fdopendir"
              r"|readdir(?:64)?(?:_r)?|closedir|scandir(?:at)?(?:64)?|n?ftw(?:64)?"
              r"|aio_\w+|lio_listio|mq_\w+|shm(?:get|at|dt|ctl)|sem(?:get|op|ctl)|msg(?:get|snd|rcv|ctl)"
              r"|fts_\w+|glob(?:64)?|wordexp|inotify_\w+"
              r"|std::(?:__\w+::)?(?:basic_)?[iof]*(?:fstream|filebuf)\b.*|std::filesystem\b.*"
              r"|dlopen|dlsym|syscall|ioctl|system|popen|pclose|exec[lv]\w*",
    "a person": r"stdin|std::w?cin|isatty|ttyname(?:_r)?|tc[gs]etattr|getpass|f?getc(?:_unlocked)?"
                r"|_IO_getc|f?getw?char|f?gets|getline|getdelim|ungetc|v?f?scanf|isoc\d+_v?f?scanf"
                # A check that fails may say so on standard error before it ends the process.
                r"|v?printf|puts|putw?char(?:_unlocked)?|stdout|std::w?(?:cout|cerr|clog)|perror"
                r"|v?syslog|openlog",
    "the environment": r"(?:secure_|__secure_)?getenv|setenv|putenv|unsetenv|clearenv|environ"
                       r"|__environ|getp?pid|gettid|get(?:host|domain)name|gethostid|gete?[ug]id"
                       r"|getgroups|getlogin(?:_r)?|get(?:pw|gr)\w+|uname|(?:path|fpath|sys)conf"
                       r"|confstr|sysinfo|get_\w*nprocs\w*|getauxval|[gs]etpriority"
                       r"|getloadavg|getpagesize|[gs]etrlimit(?:64)?|prlimit(?:64)?|getrusage|sched_\w+|getcpu"
                       # The JSON library reads the locale's decimal point; nobody may set one.
                       r"|setlocale|newlocale|uselocale|nl_langinfo(?:_l)?|std::locale::global\b.*"
                       r"|std::locale::locale\(char const\*.*|(?:bind)?textdomain|d?c?n?gettext",
    "the process": r"exit|_exit|_Exit|quick_exit|atexit|on_exit|kill|raise"
                   r"|signal|sig(?:action|procmask|suspend|pending|altstack|queue|wait\w*)"
                   r"|wait(?:pid|id)?|prctl|ptrace|nice",
    # GnuTLS has sockets, files, a clock and entropy of its own.
    "more of GnuTLS than digests": r"gnutls_(?!hash|hmac)\w+",
    # Random bytes come from a seed, so that a run can be repeated.
    "entropy": r"rand|srand|rand_r|random|srandom|[dejlmn]+rand48|arc4random\w*|getrandom"
               r"|getentropy|std::random_device\b.*",
    # What the compiler's own library has found out before main().
    "the processor": r"cpu_model|cpu_features2?|cpu_indicator_init",
}
# A symbol as nm names it: with parameters where it is C++, with a version where it is linked.
PATTERNS = {what: re.compile(rf"(?:__)?(?:{names})(?:_chk|_2)?(?:\(.*)?(?:@.*)?")
            for what, names in FORBIDDEN.items()}


# Some of it has no symbol: an intrinsic becomes an instruction.
INSTRUCTIONS = {
    "the clock": r"rdtscp?|rdpmc",
    "entropy": r"rdrand|rdseed",
    "a file": r"syscall|sysenter|int +\$0x80",
    "the processor": r"cpuid|xgetbv|rdpid",
}
# What a pure module may ask for all the same, by module.
EXEMPT = {
    # Which of its kernels the processor can run (kernels.cc). All give the same bits, which their tests compare, so the
    # answer is how fast and not what; and it is the same for as long as a process lives.
    "codec": {"cpuid", "__cpu_model", "__cpu_features2"},
}
INSTRUCTION = re.compile(r"^ +[0-9a-f]+:\t(?:[a-z]+ )*?(" + "|".join(INSTRUCTIONS.values()) + r")\b",
                         re.MULTILINE)


def instructed(archive: Path) -> set[str]:
    """The instructions in the library that ask for something of the machine."""
    listing = subprocess.run(["objdump", "--disassemble", "--no-show-raw-insn", str(archive)],
                             capture_output=True, check=True, text=True).stdout
    return set(INSTRUCTION.findall(listing))


def needed(archive: Path) -> set[str]:
    listing = subprocess.run(["nm", "--undefined-only", "--demangle", str(archive)],
                             capture_output=True, check=True, text=True).stdout
    return {match[1] for match in re.finditer(r"^\s+[Uwv] (.+)$", listing, re.MULTILINE)}


# Where a library keeps what can be written. A constant that holds addresses lies in .data.rel.ro,
# which is writable only until the program has been loaded.
WRITABLE = re.compile(r"(?:\.t?(?:data|bss)(?!\.rel\.ro)\b.*|\*COM\*)")
# What the compiler and its sanitizers keep for themselves.
COMPILERS_OWN = re.compile(r"DW\.ref\.|__")


def state(archive: Path) -> set[str]:
    """What the library can write to, by name."""
    listing = subprocess.run(
        ["nm", "--defined-only", "--demangle", "--format=sysv", str(archive)],
        capture_output=True, check=True, text=True).stdout
    # name|value|class|type|size|line|section, and a name may hold a | of its own.
    columns = [line.rsplit("|", 6) for line in listing.splitlines()]
    return {column[0].strip() for column in columns
            if len(column) == 7 and WRITABLE.fullmatch(column[6].strip())
            and column[3].strip() in ("OBJECT", "TLS", "COMMON")
            and not COMPILERS_OWN.match(column[0])}


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
        exempt = EXEMPT.get(module["name"], set())
        for symbol in sorted(needed(archive) - exempt):
            if what := asks_for(symbol):
                complaints.append(f"{module['name']}: is pure and asks for {what}: {symbol}")
        for instruction in sorted(instructed(archive) - exempt):
            what = next(what for what, names in INSTRUCTIONS.items()
                        if re.fullmatch(names, instruction))
            complaints.append(f"{module['name']}: is pure and asks for {what}: {instruction}")
        complaints += [f"{module['name']}: is pure and keeps state: {name}"
                       for name in sorted(state(archive))]
    return complaints


if __name__ == "__main__":
    tree.run(check)
