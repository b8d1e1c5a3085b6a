/* Lets chosen system calls fail. Preloaded (LD_PRELOAD) into every process of a job; calls of the C
 * library's own (fopen, dlopen) are not seen.
 *
 * FAULTS_PLAN: faults, separated by ';', each KIND,ERROR,WHO,COUNTED,FIRST,N,PATH
 *   KIND     open read write seek sync rename map fork close mkdir unlink truncate
 *   ERROR    the name of an errno; "short": half of what was asked is read or written; "lost":
 *            nothing is written, and nothing said; "kill": SIGKILL at the call; "count": nothing
 *            fails, calls are counted
 *   WHO      parent, index (helper), forked (not yet known which), child-000, merge, other; what
 *            these begin with: child; or any
 *   COUNTED  all: one count for all processes; own: each process counts its calls
 *   FIRST, N the first call that fails, from 1, and how many do; N = 0: all from then on
 *   PATH     only calls on what is at or below this place; - for fork and for memory without a file
 * FAULTS_COUNTS: a file of 8 bytes for each fault: the counts for all processes.
 * FAULTS_RECORD: gets a line for each call that failed: ERROR KIND WHO COUNT PID PATH
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { most_faults = 512, SHORT = -1, LOST = -2, KILL = -3, COUNT = -4 };

struct fault {
  char kind[16], who[16], error[16], counted[8], path[1024];
  long first, n, own_count;
  int number; /* an errno, or one of the above */
};

static struct fault faults[most_faults];
static int n_faults;
static long* counts; /* by fault, shared by all processes; NULL: nothing is planned */
static char role[16] = "other";

static void stop(const char* why, const char* what) {
  fprintf(stderr, "faults: %s: %s\n", why, what);
  _exit(99);
}

static int number_of(const char* error) {
  static const struct {
    const char* name;
    int number;
  } known[] = {{"short", SHORT},   {"lost", LOST},     {"kill", KILL},     {"count", COUNT},
               {"EIO", EIO},       {"ENOSPC", ENOSPC}, {"EDQUOT", EDQUOT}, {"EINTR", EINTR},
               {"EMFILE", EMFILE}, {"EAGAIN", EAGAIN}, {"ENOMEM", ENOMEM}, {"EROFS", EROFS},
               {"EACCES", EACCES}};
  for (size_t i = 0; i < sizeof known / sizeof *known; ++i)
    if (strcmp(error, known[i].name) == 0) return known[i].number;
  stop("no such error", error);
  return 0;
}

static void parse_plan(const char* plan) {
  char* text = strdup(plan);
  for (char* at = strtok(text, ";"); at; at = strtok(NULL, ";")) {
    struct fault* f = &faults[n_faults];
    if (n_faults == most_faults ||
        sscanf(at, "%15[^,],%15[^,],%15[^,],%7[^,],%ld,%ld,%1023[^\n]", f->kind, f->error, f->who,
               f->counted, &f->first, &f->n, f->path) != 7)
      stop("not a fault", at);
    f->number = number_of(f->error);
    ++n_faults;
  }
  free(text);
}

/* What the parent forks is known later. Helpers that read the input are programs of their own, and
 * libraries may start others. */
static void find_role(void) {
  char line[4096] = "";
  const int file = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY);
  const long n = syscall(SYS_read, file, line, sizeof line - 1);
  syscall(SYS_close, file);
  for (long i = 0; i < n; i += (long)strlen(line + i) + 1)
    if (strcmp(line + i, "forkrun") == 0)
      strcpy(role, "parent");
    else if (strcmp(line + i, "forkrun.index.worker") == 0)
      strcpy(role, "index");
}

__attribute__((constructor)) static void begin(void) {
  const char *plan = getenv("FAULTS_PLAN"), *file = getenv("FAULTS_COUNTS");
  if (!plan || !file) return;
  const int fd = (int)syscall(SYS_openat, AT_FDCWD, file, O_RDWR);
  const size_t size = sizeof(long) * most_faults;
  void* memory = (void*)syscall(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0L);
  if (fd < 0 || memory == MAP_FAILED) stop("cannot be mapped", file);
  syscall(SYS_close, fd);
  find_role();
  parse_plan(plan);
  counts = memory;
}

/* A forked process is known by its log: 1234-child-003.log, 1234-merge.log. */
static void note_role(const char* path) {
  const char *name = strrchr(path, '/'), *dash = name ? strchr(name, '-') : NULL;
  if (strcmp(role, "forked") == 0 && dash && strstr(dash, ".log"))
    snprintf(role, sizeof role, "%.*s", (int)strcspn(dash + 1, "."), dash + 1);
}

static void record(const struct fault* f, long count, const char* path) {
  char line[PATH_MAX + 128];
  const char* file = getenv("FAULTS_RECORD");
  const int n = snprintf(line, sizeof line, "%s %s %s %ld %d %s\n", f->error, f->kind, role, count,
                         getpid(), path);
  if (!file) return;
  const int fd =
      (int)syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  syscall(SYS_write, fd, line, (size_t)n);
  syscall(SYS_close, fd);
}

static int is_meant(const struct fault* f, const char* kind, const char* path) {
  const size_t length = strlen(f->path);
  if (strcmp(f->kind, kind) != 0) return 0;
  if (strcmp(f->who, "any") != 0 && strncmp(f->who, role, strlen(f->who)) != 0) return 0;
  return path ? strncmp(path, f->path, length) == 0 : strcmp(f->path, "-") == 0;
}

/* What becomes of a call: 0 (it is made), an errno, SHORT or LOST. `path`: NULL for what has none.
 */
static int fate(const char* kind, const char* path) {
  int number = 0;
  const int error_before = errno;
  for (int i = 0; counts && i < n_faults; ++i) {
    struct fault* f = &faults[i];
    if (!is_meant(f, kind, path)) continue;
    long* count = strcmp(f->counted, "own") == 0 ? &f->own_count : &counts[i];
    const long now = __atomic_add_fetch(count, 1, __ATOMIC_SEQ_CST);
    if (f->number == COUNT || now < f->first || (f->n && now >= f->first + f->n)) continue;
    record(f, now, path ? path : "-");
    if (f->number == KILL) syscall(SYS_kill, getpid(), SIGKILL);
    number = f->number;
  }
  errno = error_before;
  return number;
}

static int fate_of_file(const char* kind, int fd) {
  char link[32], path[PATH_MAX];
  const int error_before = errno;
  if (!counts) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const long n = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
  errno = error_before;
  if (n <= 0) return 0;
  path[n] = '\0';
  return fate(kind, path);
}

#define FAIL_IF(number)     \
  do {                      \
    const int e = (number); \
    if (e > 0) {            \
      errno = e;            \
      return -1;            \
    }                       \
  } while (0)

static size_t shortened(size_t n, int number) { return number == SHORT && n > 1 ? n / 2 : n; }

/* --- the calls: what is not to fail is made as the C library makes it ---------------------------
 */

int openat(int folder, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  note_role(path);
  FAIL_IF(fate("open", path));
  return (int)syscall(SYS_openat, folder, path, flags, mode);
}

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return openat(AT_FDCWD, path, flags, mode);
}

ssize_t read(int fd, void* to, size_t n) {
  const int number = fate_of_file("read", fd);
  FAIL_IF(number);
  return syscall(SYS_read, fd, to, shortened(n, number));
}

ssize_t pread(int fd, void* to, size_t n, off_t place) {
  const int number = fate_of_file("read", fd);
  FAIL_IF(number);
  return syscall(SYS_pread64, fd, to, shortened(n, number), place);
}

ssize_t write(int fd, const void* from, size_t n) {
  const int number = fate_of_file("write", fd);
  FAIL_IF(number);
  if (number == LOST) return (ssize_t)n;
  return syscall(SYS_write, fd, from, shortened(n, number));
}

ssize_t pwrite(int fd, const void* from, size_t n, off_t place) {
  const int number = fate_of_file("write", fd);
  FAIL_IF(number);
  if (number == LOST) return (ssize_t)n;
  return syscall(SYS_pwrite64, fd, from, shortened(n, number), place);
}

off_t lseek(int fd, off_t place, int whence) {
  FAIL_IF(fate_of_file("seek", fd));
  return syscall(SYS_lseek, fd, place, whence);
}

int fsync(int fd) {
  FAIL_IF(fate_of_file("sync", fd));
  return (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd) {
  FAIL_IF(fate_of_file("sync", fd));
  return (int)syscall(SYS_fdatasync, fd);
}

int ftruncate(int fd, off_t size) {
  FAIL_IF(fate_of_file("truncate", fd));
  return (int)syscall(SYS_ftruncate, fd, size);
}

int close(int fd) { /* as on Linux: whatever it says, the descriptor is closed */
  const int number = fate_of_file("close", fd);
  const int result = (int)syscall(SYS_close, fd);
  FAIL_IF(number);
  return result;
}

int renameat(int from_folder, const char* from, int to_folder, const char* to) {
  FAIL_IF(fate("rename", to));
  return (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, 0);
}

int rename(const char* from, const char* to) { return renameat(AT_FDCWD, from, AT_FDCWD, to); }

int mkdirat(int folder, const char* path, mode_t mode) {
  FAIL_IF(fate("mkdir", path));
  return (int)syscall(SYS_mkdirat, folder, path, mode);
}

int mkdir(const char* path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }

int unlinkat(int folder, const char* path, int flags) {
  FAIL_IF(path[0] == '/' ? fate("unlink", path) : fate_of_file("unlink", folder));
  return (int)syscall(SYS_unlinkat, folder, path, flags);
}

int unlink(const char* path) { return unlinkat(AT_FDCWD, path, 0); }

int rmdir(const char* path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }

/* Of files, and of memory that processes share. */
void* mmap(void* at, size_t n, int protection, int flags, int fd, off_t place) {
  const int is_shared = (flags & MAP_SHARED) && (flags & MAP_ANONYMOUS);
  const int number = fd >= 0 ? fate_of_file("map", fd) : is_shared ? fate("map", NULL) : 0;
  if (number > 0) {
    errno = number;
    return MAP_FAILED;
  }
  return (void*)syscall(SYS_mmap, at, n, protection, flags, fd, place);
}

pid_t fork(void) {
  FAIL_IF(fate("fork", NULL));
  pid_t (*const real)(void) = (pid_t (*)(void))dlsym(RTLD_NEXT, "fork");
  const pid_t pid = real();
  if (pid == 0 && strcmp(role, "parent") == 0) {
    for (int i = 0; i < n_faults; ++i) faults[i].own_count = 0;
    strcpy(role, "forked");
  }
  return pid;
}

pid_t vfork(void) { return fork(); } /* how Python starts programs; a fork does as well */

int open64(const char*, int, ...) __attribute__((alias("open")));
int openat64(int, const char*, int, ...) __attribute__((alias("openat")));
ssize_t pread64(int, void*, size_t, off_t) __attribute__((alias("pread")));
ssize_t pwrite64(int, const void*, size_t, off_t) __attribute__((alias("pwrite")));
off_t lseek64(int, off_t, int) __attribute__((alias("lseek")));
int ftruncate64(int, off_t) __attribute__((alias("ftruncate")));
void* mmap64(void*, size_t, int, int, int, off_t) __attribute__((alias("mmap")));
