/* Records everything a process does to the files below one folder, in order: LD_PRELOAD=record.so

   RECORD_ROOT   the folder (absolute, without links)
   RECORD_LOG    the log, appended to
   RECORD_ACKS   a file whose writes are recorded as acknowledgements
   RECORD_FAIL   a number n: the n-th write to a descriptor that syncs by itself fails with EIO
   RECORD_KILL   a number n: a process is killed when its n-th such write is done, before it learns of it

   A record is a `struct head`, then `name_size` bytes of names, then `data_size` bytes of data; `recording.py` reads it.
   One operation at a time, over all threads and forked processes: the order in the log is the order of the effects.
   A write to a descriptor opened with O_SYNC or O_DSYNC is marked as synced. Shared writable mappings are named, because
   what goes through them is not seen. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { MAKE_FILE = 1, MAKE_FOLDER, WRITE, TRUNCATE, SYNC, REMOVE, RENAME, ACKNOWLEDGE, MAP };

struct head {
    uint32_t kind, synced, name_size, data_size;
    uint64_t node, folder, target, offset;
};

static char root[PATH_MAX], acks[PATH_MAX];
static size_t root_size;
static long until_failure, until_kill;
static int log_fd = -1;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

#define REAL(name) \
    static __typeof__(&name) real; \
    if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

static void lock_file(short type) {
    struct flock whole = {.l_type = type, .l_whence = SEEK_SET};
    while (syscall(SYS_fcntl, log_fd, F_SETLKW, &whole) < 0 && errno == EINTR) {}
}
static void begin(void) { pthread_mutex_lock(&turn); if (log_fd >= 0) lock_file(F_WRLCK); }
static void end(void) { int kept = errno; if (log_fd >= 0) lock_file(F_UNLCK); pthread_mutex_unlock(&turn); errno = kept; }
static void before_fork(void) { pthread_mutex_lock(&turn); }
static void after_fork(void) { pthread_mutex_unlock(&turn); }

__attribute__((constructor)) static void start(void) {
    const char *folder = getenv("RECORD_ROOT"), *log = getenv("RECORD_LOG"), *marks = getenv("RECORD_ACKS");
    if (!folder || !log) return;
    snprintf(root, sizeof root, "%s/", folder);
    root_size = strlen(root);
    snprintf(acks, sizeof acks, "%s", marks ? marks : "");
    until_failure = atol(getenv("RECORD_FAIL") ? getenv("RECORD_FAIL") : "0");
    until_kill = atol(getenv("RECORD_KILL") ? getenv("RECORD_KILL") : "0");
    log_fd = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    pthread_atfork(before_fork, after_fork, after_fork);
}

static void put(struct head *head, const char *name, const struct iovec *data, int count) {
    struct iovec all[count + 2];
    int kept = errno;
    head->name_size = (uint32_t)strlen(name);
    all[0] = (struct iovec){head, sizeof *head};
    all[1] = (struct iovec){(void *)name, head->name_size};
    for (int at = 0; at < count; at++) all[at + 2] = data[at];
    if (syscall(SYS_writev, log_fd, all, count + 2) < 0) abort();
    errno = kept;
}

/* The absolute path of what a call names; 0 when it is not below the root. */
static int locate(int folder, const char *path, char *found) {
    char base[PATH_MAX];
    if (log_fd < 0 || !path) return 0;
    if (path[0] == '/') {
        snprintf(found, PATH_MAX, "%s", path);
    } else {
        char link[64];
        ssize_t size;
        if (folder == AT_FDCWD) snprintf(link, sizeof link, "/proc/self/cwd");
        else snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
        size = syscall(SYS_readlinkat, AT_FDCWD, link, base, sizeof base - 1);
        if (size < 0) return 0;
        base[size] = 0;
        if (snprintf(found, PATH_MAX, "%s/%s", base, path) >= PATH_MAX) return 0;
    }
    for (size_t size = strlen(found); size > 1 && found[size - 1] == '/'; size--) found[size - 1] = 0;
    return strncmp(found, root, root_size) == 0;
}

static uint64_t number(const char *path) {
    struct stat found;
    return lstat(path, &found) == 0 ? (uint64_t)found.st_ino : 0;
}

static uint64_t parent(const char *path) {
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = 0;
    return number(folder);
}

static const char *last(const char *path) { return strrchr(path, '/') + 1; }

/* The path behind a descriptor; 0 when it is neither below the root nor the file of acknowledgements. */
static int name_of(int fd, char *found) {
    char link[64];
    ssize_t size;
    if (log_fd < 0 || fd == log_fd) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    size = syscall(SYS_readlinkat, AT_FDCWD, link, found, PATH_MAX - 1);
    if (size < 0) return 0;
    found[size] = 0;
    return strncmp(found, root, root_size) == 0 || strcmp(found, acks) == 0 || strncmp(found, root, root_size - 1) == 0;
}

static void note(int fd, uint32_t kind, const char *path, uint64_t offset) {
    struct stat found;
    if (fstat(fd, &found) < 0) return;
    struct head head = {.kind = kind, .node = found.st_ino, .offset = offset};
    put(&head, path, NULL, 0);
}

/* --- names */

static int open_any(int folder, const char *path, int flags, mode_t mode) {
    char found[PATH_MAX];
    int ours = locate(folder, path, found) && (flags & (O_CREAT | O_TRUNC)) && (flags & O_TMPFILE) != O_TMPFILE, fd;
    if (!ours) return (int)syscall(SYS_openat, folder, path, flags, mode);
    begin();
    int existed = number(found) != 0;
    fd = (int)syscall(SYS_openat, folder, path, flags, mode);
    if (fd >= 0 && !existed) {
        struct head head = {.kind = MAKE_FILE, .node = number(found), .folder = parent(found)};
        put(&head, last(found), NULL, 0);
    } else if (fd >= 0 && (flags & O_TRUNC)) {
        note(fd, TRUNCATE, found, 0);
    }
    end();
    return fd;
}

#define MODE mode_t mode = 0; if (flags & (O_CREAT | O_TMPFILE)) { va_list rest; va_start(rest, flags); mode = va_arg(rest, mode_t); va_end(rest); }
int open(const char *path, int flags, ...) { MODE return open_any(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE return open_any(AT_FDCWD, path, flags | O_LARGEFILE, mode); }
int openat(int folder, const char *path, int flags, ...) { MODE return open_any(folder, path, flags, mode); }
int openat64(int folder, const char *path, int flags, ...) { MODE return open_any(folder, path, flags | O_LARGEFILE, mode); }
int creat(const char *path, mode_t mode) { return open_any(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }

int mkdirat(int folder, const char *path, mode_t mode) {
    char found[PATH_MAX];
    if (!locate(folder, path, found)) return (int)syscall(SYS_mkdirat, folder, path, mode);
    begin();
    int done = (int)syscall(SYS_mkdirat, folder, path, mode);
    if (done == 0) {
        struct head head = {.kind = MAKE_FOLDER, .node = number(found), .folder = parent(found)};
        put(&head, last(found), NULL, 0);
    }
    end();
    return done;
}
int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }

int unlinkat(int folder, const char *path, int flags) {
    char found[PATH_MAX];
    if (!locate(folder, path, found)) return (int)syscall(SYS_unlinkat, folder, path, flags);
    begin();
    struct head head = {.kind = REMOVE, .folder = parent(found)};
    int done = (int)syscall(SYS_unlinkat, folder, path, flags);
    if (done == 0) put(&head, last(found), NULL, 0);
    end();
    return done;
}
int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }

int renameat2(int folder, const char *path, int target, const char *name, unsigned flags) {
    char from[PATH_MAX], to[PATH_MAX], both[2 * PATH_MAX];
    if (!locate(folder, path, from) || !locate(target, name, to))
        return (int)syscall(SYS_renameat2, folder, path, target, name, flags);
    begin();
    struct head head = {.kind = RENAME, .node = number(from), .folder = parent(from), .target = parent(to)};
    int done = (int)syscall(SYS_renameat2, folder, path, target, name, flags);
    snprintf(both, sizeof both, "%s/%s", last(from), last(to));
    if (done == 0) put(&head, both, NULL, 0);
    end();
    return done;
}
int renameat(int folder, const char *path, int target, const char *name) { return renameat2(folder, path, target, name, 0); }
int rename(const char *path, const char *name) { return renameat2(AT_FDCWD, path, AT_FDCWD, name, 0); }

/* --- contents */

static int syncs_itself(int fd) { return (syscall(SYS_fcntl, fd, F_GETFL) & (O_SYNC | O_DSYNC)) != 0; }

/* The first `done` bytes of the parts were written at `offset`. */
static void note_write(int fd, const char *path, const struct iovec *parts, int count, ssize_t done, off_t offset) {
    struct stat found;
    struct iovec cut[count];
    int used = 0;
    if (done <= 0 || fstat(fd, &found) < 0) return;
    struct head head = {.kind = strcmp(path, acks) ? WRITE : ACKNOWLEDGE, .data_size = (uint32_t)done};
    head.node = found.st_ino;
    head.offset = (uint64_t)offset;
    head.synced = syncs_itself(fd);
    for (size_t left = (size_t)done; left > 0; used++) {
        cut[used] = parts[used];
        if (cut[used].iov_len > left) cut[used].iov_len = left;
        left -= cut[used].iov_len;
    }
    put(&head, path, cut, used);
}

static ssize_t write_at(int fd, const struct iovec *parts, int count, off_t offset) {
    char path[PATH_MAX];
    if (!name_of(fd, path)) return syscall(SYS_pwritev, fd, parts, count, offset, 0);
    begin();
    if (until_failure > 0 && syncs_itself(fd) && --until_failure == 0) {
        end();
        errno = EIO;
        return -1;
    }
    ssize_t done = syscall(SYS_pwritev, fd, parts, count, offset, 0);
    note_write(fd, path, parts, count, done, offset);
    end();
    if (until_kill > 0 && syncs_itself(fd) && --until_kill == 0) kill(getpid(), SIGKILL);
    return done;
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    char path[PATH_MAX];
    struct stat found;
    if (!name_of(fd, path)) return syscall(SYS_writev, fd, parts, count);
    begin();
    off_t offset = syscall(SYS_lseek, fd, 0, SEEK_CUR);
    if ((syscall(SYS_fcntl, fd, F_GETFL) & O_APPEND) && fstat(fd, &found) == 0) offset = found.st_size;
    ssize_t done = syscall(SYS_writev, fd, parts, count);
    note_write(fd, path, parts, count, done, offset);
    end();
    return done;
}

ssize_t write(int fd, const void *data, size_t size) {
    struct iovec part = {(void *)data, size};
    char path[PATH_MAX];
    return name_of(fd, path) ? writev(fd, &part, 1) : syscall(SYS_write, fd, data, size);
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) {
    struct iovec part = {(void *)data, size};
    return write_at(fd, &part, 1, offset);
}
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset) { return pwrite(fd, data, size, offset); }
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) { return write_at(fd, parts, count, offset); }
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset) { return write_at(fd, parts, count, offset); }

int ftruncate(int fd, off_t size) {
    char path[PATH_MAX];
    if (!name_of(fd, path)) return (int)syscall(SYS_ftruncate, fd, size);
    begin();
    int done = (int)syscall(SYS_ftruncate, fd, size);
    if (done == 0) note(fd, TRUNCATE, path, (uint64_t)size);
    end();
    return done;
}
int ftruncate64(int fd, off64_t size) { return ftruncate(fd, size); }

static int sync_any(long call, int fd) {
    char path[PATH_MAX];
    if (!name_of(fd, path)) return (int)syscall(call, fd);
    begin();
    int done = (int)syscall(call, fd);
    if (done == 0) note(fd, SYNC, path, 0);
    end();
    return done;
}
int fsync(int fd) { return sync_any(SYS_fsync, fd); }
int fdatasync(int fd) { return sync_any(SYS_fdatasync, fd); }

void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset) {
    char path[PATH_MAX];
    REAL(mmap);
    void *done = real(address, size, protection, flags, fd, offset);
    if (done != MAP_FAILED && fd >= 0 && (flags & MAP_SHARED) && (protection & PROT_WRITE) && name_of(fd, path)) {
        begin();
        note(fd, MAP, path, 0);
        end();
    }
    return done;
}
void *mmap64(void *address, size_t size, int protection, int flags, int fd, off64_t offset) {
    return mmap(address, size, protection, flags, fd, offset);
}
