/*
 * Records the operations of a process on files and folders below POWER_ROOT, and the HTTP answers that it sends, in their
 * order to the file POWER_LOG. It is loaded before the C library (LD_PRELOAD). A lock makes each write and its record one
 * step. A sync has a record at its start and one at its end, so that concurrent writes do not count as synced. Writes
 * through mapped memory are not recorded: SQLite uses them only for -shm files, which it recreates after a crash.
 *
 * A record has 32 bytes { u32 total length, u32 kind, u32 process, i32 file descriptor, i64 number, u32 length of the text,
 * u32 0 }, the text, and further bytes up to its end. recording.ts reads records.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define MOST_FDS 65536
#define ANSWER_BYTES 600

static const char *root;
static size_t root_length;
static int log_fd = -1;
/* Marks the descriptors of files below the root. */
static volatile char tracked[MOST_FDS];
static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;

#define REAL(name) ((__typeof__(&name))real(#name))

static void *real(const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  if (found == NULL) abort();
  return found;
}

/* Runs in a forked child. It must not record anything or take the lock until it runs another program. */
static void in_child(void) {
  log_fd = -1;
}

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("POWER_LOG");
  root = getenv("POWER_ROOT");
  if (path == NULL || root == NULL) return;
  root_length = strlen(root);
  int fd = REAL(open)(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) abort();
  /* A high number avoids descriptors that the program expects to get. */
  log_fd = fcntl(fd, F_DUPFD_CLOEXEC, 900);
  REAL(close)(fd);
  pthread_atfork(NULL, NULL, in_child);
}

struct head {
  uint32_t length, kind, process;
  int32_t fd;
  int64_t number;
  uint32_t text, unused;
};

/* Appends a record. The caller has to hold the lock. */
static void record(char kind, int fd, int64_t number, const char *text, const struct iovec *parts, int count, size_t bytes) {
  struct iovec all[1026];
  size_t text_length = text == NULL ? 0 : strlen(text);
  struct head head = {0, (uint32_t)kind, (uint32_t)getpid(), fd, number, (uint32_t)text_length, 0};
  all[0] = (struct iovec){&head, sizeof head};
  all[1] = (struct iovec){(void *)text, text_length};
  size_t left = bytes;
  int used = 2;
  for (int i = 0; i < count && left > 0 && used < 1026; i++) {
    size_t length = parts[i].iov_len < left ? parts[i].iov_len : left;
    all[used++] = (struct iovec){parts[i].iov_base, length};
    left -= length;
  }
  head.length = (uint32_t)(sizeof head + text_length + (bytes - left));
  ssize_t written = REAL(writev)(log_fd, all, used);
  if (left != 0 || written != (ssize_t)head.length) {
    static const char words[] = "recorder: the record can't be written\n";
    REAL(write)(2, words, sizeof words - 1);
    abort();
  }
}

static void note(char kind, int fd, int64_t number, const char *text, const char *bytes) {
  struct iovec part = {(void *)bytes, bytes == NULL ? 0 : strlen(bytes)};
  record(kind, fd, number, text, &part, 1, part.iov_len);
}

static int lock(void) {
  if (log_fd < 0) return 0;
  pthread_mutex_lock(&order);
  return 1;
}

static void unlock(int locked) {
  if (!locked) return;
  int kept = errno;
  pthread_mutex_unlock(&order);
  errno = kept;
}

static int below(const char *path) {
  return strncmp(path, root, root_length) == 0 && (path[root_length] == '/' || path[root_length] == 0);
}

/* Returns the absolute form of a path if it is below the root, otherwise NULL. */
static const char *absolute(int folder, const char *path, char *into) {
  if (log_fd < 0 || path == NULL) return NULL;
  if (path[0] == '/') {
    snprintf(into, PATH_MAX, "%s", path);
  } else if (folder == AT_FDCWD) {
    char here[PATH_MAX];
    if (getcwd(here, sizeof here) == NULL) return NULL;
    if (snprintf(into, PATH_MAX, "%s/%s", here, path) >= PATH_MAX) return NULL;
  } else {
    char link[64], there[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
    ssize_t length = readlink(link, there, sizeof there - 1);
    if (length < 0) return NULL;
    there[length] = 0;
    if (snprintf(into, PATH_MAX, "%s/%s", there, path) >= PATH_MAX) return NULL;
  }
  return below(into) ? into : NULL;
}

static int is_tracked(int fd) {
  return log_fd >= 0 && fd >= 0 && fd < MOST_FDS && tracked[fd];
}

/* Opening. */

static int open_at(int folder, const char *path, int flags, mode_t mode) {
  char name[PATH_MAX];
  const char *known = absolute(folder, path, name);
  if (known == NULL) return REAL(openat)(folder, path, flags, mode);
  int locked = lock();
  int fd = REAL(openat)(folder, path, flags, mode);
  if (fd >= 0 && fd < MOST_FDS) {
    tracked[fd] = 1;
    note('O', fd, flags, known, NULL);
  }
  unlock(locked);
  return fd;
}

#define OPENS(name, folder, ...)                          \
  int name(__VA_ARGS__, int flags, ...) {                 \
    va_list rest;                                         \
    va_start(rest, flags);                                \
    mode_t mode = va_arg(rest, mode_t);                   \
    va_end(rest);                                         \
    return open_at(folder, path, flags, mode);            \
  }
OPENS(open, AT_FDCWD, const char *path)
OPENS(open64, AT_FDCWD, const char *path)
OPENS(openat, folder, int folder, const char *path)
OPENS(openat64, folder, int folder, const char *path)
int creat(const char *path, mode_t mode) { return open_at(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }
int creat64(const char *path, mode_t mode) { return creat(path, mode); }

int close(int fd) {
  if (!is_tracked(fd)) return REAL(close)(fd);
  int locked = lock();
  tracked[fd] = 0;
  note('C', fd, 0, NULL, NULL);
  int outcome = REAL(close)(fd);
  unlock(locked);
  return outcome;
}

/* libuv closes files by this function. Copies between files without a write can't be recorded, so they are refused. */
long syscall(long number, ...) {
  va_list rest;
  va_start(rest, number);
  long a = va_arg(rest, long), b = va_arg(rest, long), c = va_arg(rest, long);
  long d = va_arg(rest, long), e = va_arg(rest, long), f = va_arg(rest, long);
  va_end(rest);
  if (number == SYS_close) return close((int)a);
  if ((number == SYS_copy_file_range && is_tracked((int)c)) || (number == SYS_sendfile && is_tracked((int)a))) {
    errno = ENOSYS;
    return -1;
  }
  return REAL(syscall)(number, a, b, c, d, e, f);
}

ssize_t sendfile(int to, int from, off_t *at, size_t length) {
  if (!is_tracked(to)) return REAL(sendfile)(to, from, at, length);
  errno = ENOSYS;
  return -1;
}

/* Writing. */

static void written(int fd, int64_t at, const struct iovec *parts, int count, ssize_t bytes) {
  if (bytes > 0) record('W', fd, at, NULL, parts, count, (size_t)bytes);
}

/* Returns the offset of a write that had none, from the position after it. */
static int64_t behind(int fd, ssize_t bytes) {
  return bytes > 0 ? lseek(fd, 0, SEEK_CUR) - bytes : 0;
}

static void answered(const struct iovec *parts, int count) {
  if (log_fd < 0 || count < 1 || parts[0].iov_len < 12 || memcmp(parts[0].iov_base, "HTTP/1.1 ", 9) != 0) return;
  int locked = lock();
  record('A', 0, 0, NULL, parts, 1, parts[0].iov_len < ANSWER_BYTES ? parts[0].iov_len : ANSWER_BYTES);
  unlock(locked);
}

ssize_t write(int fd, const void *bytes, size_t length) {
  struct iovec part = {(void *)bytes, length};
  if (!is_tracked(fd)) {
    answered(&part, 1);
    return REAL(write)(fd, bytes, length);
  }
  int locked = lock();
  ssize_t outcome = REAL(write)(fd, bytes, length);
  written(fd, behind(fd, outcome), &part, 1, outcome);
  unlock(locked);
  return outcome;
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
  if (!is_tracked(fd)) {
    answered(parts, count);
    return REAL(writev)(fd, parts, count);
  }
  int locked = lock();
  ssize_t outcome = REAL(writev)(fd, parts, count);
  written(fd, behind(fd, outcome), parts, count, outcome);
  unlock(locked);
  return outcome;
}

ssize_t send(int fd, const void *bytes, size_t length, int flags) {
  struct iovec part = {(void *)bytes, length};
  answered(&part, 1);
  return REAL(send)(fd, bytes, length, flags);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
  answered(message->msg_iov, (int)message->msg_iovlen);
  return REAL(sendmsg)(fd, message, flags);
}

static ssize_t write_at(int fd, const void *bytes, size_t length, off64_t at) {
  if (!is_tracked(fd)) return REAL(pwrite64)(fd, bytes, length, at);
  struct iovec part = {(void *)bytes, length};
  int locked = lock();
  ssize_t outcome = REAL(pwrite64)(fd, bytes, length, at);
  written(fd, at, &part, 1, outcome);
  unlock(locked);
  return outcome;
}
ssize_t pwrite(int fd, const void *bytes, size_t length, off_t at) { return write_at(fd, bytes, length, at); }
ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t at) { return write_at(fd, bytes, length, at); }

static ssize_t write_parts_at(int fd, const struct iovec *parts, int count, off64_t at) {
  if (!is_tracked(fd)) return REAL(pwritev64)(fd, parts, count, at);
  int locked = lock();
  ssize_t outcome = REAL(pwritev64)(fd, parts, count, at);
  written(fd, at, parts, count, outcome);
  unlock(locked);
  return outcome;
}
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at) { return write_parts_at(fd, parts, count, at); }
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t at) { return write_parts_at(fd, parts, count, at); }

static int cut(int fd, off64_t length) {
  if (!is_tracked(fd)) return REAL(ftruncate64)(fd, length);
  int locked = lock();
  int outcome = REAL(ftruncate64)(fd, length);
  if (outcome == 0) note('T', fd, length, NULL, NULL);
  unlock(locked);
  return outcome;
}
int ftruncate(int fd, off_t length) { return cut(fd, length); }
int ftruncate64(int fd, off64_t length) { return cut(fd, length); }

/* Syncing. */

static int synced(int fd, int (*sync)(int)) {
  if (!is_tracked(fd)) return sync(fd);
  int locked = lock();
  static int64_t last;
  int64_t ticket = ++last;
  note('S', fd, ticket, NULL, NULL);
  unlock(locked);
  int outcome = sync(fd);
  locked = lock();
  if (outcome == 0) note('E', fd, ticket, NULL, NULL);
  unlock(locked);
  return outcome;
}
int fsync(int fd) { return synced(fd, REAL(fsync)); }
int fdatasync(int fd) { return synced(fd, REAL(fdatasync)); }

/* Names. */

#define NAMES(kind, name, known, extra, call)       \
  if ((known) == NULL) return call;                 \
  int locked = lock();                              \
  int outcome = call;                               \
  if (outcome == 0) note(kind, 0, 0, name, extra);  \
  unlock(locked);                                   \
  return outcome;

int renameat2(int folder, const char *from, int other, const char *to, unsigned int flags) {
  char a[PATH_MAX], b[PATH_MAX];
  const char *known = absolute(folder, from, a), *onto = absolute(other, to, b);
  NAMES('R', known, known != NULL && onto != NULL ? known : NULL, onto, REAL(renameat2)(folder, from, other, to, flags))
}
int renameat(int folder, const char *from, int other, const char *to) { return renameat2(folder, from, other, to, 0); }
int rename(const char *from, const char *to) { return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0); }

int linkat(int folder, const char *from, int other, const char *to, int flags) {
  char a[PATH_MAX], b[PATH_MAX];
  const char *known = absolute(folder, from, a), *onto = absolute(other, to, b);
  NAMES('L', known, known != NULL && onto != NULL ? known : NULL, onto, REAL(linkat)(folder, from, other, to, flags))
}
int link(const char *from, const char *to) { return linkat(AT_FDCWD, from, AT_FDCWD, to, 0); }

int unlinkat(int folder, const char *path, int flags) {
  char a[PATH_MAX];
  const char *known = absolute(folder, path, a);
  NAMES('U', known, known, NULL, REAL(unlinkat)(folder, path, flags))
}
int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }

int mkdirat(int folder, const char *path, mode_t mode) {
  char a[PATH_MAX];
  const char *known = absolute(folder, path, a);
  NAMES('M', known, known, NULL, REAL(mkdirat)(folder, path, mode))
}
int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }
