/* What a disk still has after a power cut: of each file the bytes it held at its last fsync or fdatasync, of each
 * folder the names it held at its own.
 *
 * Loaded into every process (LD_PRELOAD). A sync of anything below $POWER_ROOT is done by copying it into
 * $POWER_DISK, under a lock, and not by the real disk:
 *
 *     ID       the content of a file, with its mode and times
 *     ID.names of a folder: each entry as ID/NAME and a zero byte
 *
 * An ID is kind, inode and time of birth, so that a new file with the inode of a removed one is another. Writes need
 * not be watched: what was written since is what differs from the copy when the power goes (power_cut.py).
 * $POWER_SYNCS, a number: so many syncs are done, then the power is gone and every further one kills its process.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define ID_BYTES 64

/* The ID of what `path` names below `folder`, without following a link; 0, or -1 with errno. */
int power_id(int folder, const char *path, char *id)
{
    struct statx found;
    if (statx(folder, path, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &found))
        return -1;
    if (!(found.stx_mask & STATX_BTIME)) {
        errno = ENOTSUP;
        return -1;
    }
    char kind = S_ISREG(found.stx_mode) ? 'f' : S_ISDIR(found.stx_mode) ? 'd' : 'o';
    snprintf(id, ID_BYTES, "%c%llu-%lld.%u", kind, (unsigned long long)found.stx_ino,
             (long long)found.stx_btime.tv_sec, found.stx_btime.tv_nsec);
    return 0;
}

static int copy_names(int handle, FILE *out)
{
    int again = openat(handle, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = again < 0 ? NULL : fdopendir(again);
    if (!folder)
        return -1;
    struct dirent *entry;
    char id[ID_BYTES];
    while ((entry = readdir(folder)))
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") && !power_id(handle, entry->d_name, id))
            fprintf(out, "%s/%s%c", id, entry->d_name, 0);
    closedir(folder);
    return 0;
}

/* By the handle that is there: to open and close the file once more would drop the locks of this process on it. */
static int copy_bytes(int handle, FILE *out)
{
    char page[1 << 16], path[64];
    int readable = handle;
    off_t place = 0;
    ssize_t n;
    if ((fcntl(handle, F_GETFL) & O_ACCMODE) == O_WRONLY) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", handle);
        readable = open(path, O_RDONLY | O_CLOEXEC);
    }
    while ((n = pread(readable, page, sizeof page, place)) > 0)
        place += fwrite(page, 1, n, out);
    if (readable != handle)
        close(readable);
    struct stat found;
    fstat(handle, &found);
    fflush(out);
    fchmod(fileno(out), found.st_mode & 07777);
    struct timespec times[2] = {found.st_atim, found.st_mtim};
    futimens(fileno(out), times);
    return n < 0 ? -1 : 0;
}

/* Have the disk hold what `handle` holds now; 0, or -1 with errno. */
int power_keep(int handle, const char *disk)
{
    char id[ID_BYTES], fresh[4096], target[4096];
    if (power_id(handle, "", id))
        return -1;
    snprintf(fresh, sizeof fresh, "%s/%d.fresh", disk, getpid());
    snprintf(target, sizeof target, "%s/%s%s", disk, id, *id == 'd' ? ".names" : "");
    FILE *out = fopen(fresh, "we");
    if (!out)
        return -1;
    int failed = *id == 'd' ? copy_names(handle, out) : copy_bytes(handle, out);
    return fclose(out) || failed || rename(fresh, target) ? -1 : 0;
}

/* Whether the power is gone: a byte is added for each sync. */
static int is_gone(int lock)
{
    const char *allowed = getenv("POWER_SYNCS");
    off_t done = lseek(lock, 0, SEEK_END);
    if (allowed && done >= atoll(allowed))
        return 1;
    return write(lock, "", 1) != 1;
}

static int synced(int handle, const char *name)
{
    const char *root = getenv("POWER_ROOT"), *disk = getenv("POWER_DISK");
    char link[64], path[4096] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", handle);
    if (!root || !disk || readlink(link, path, sizeof path - 1) < 0 || strncmp(path, root, strlen(root))) {
        int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
        return real(handle);
    }
    snprintf(path, sizeof path, "%s/lock", disk);
    int lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock < 0 || flock(lock, LOCK_EX))
        return -1;
    if (is_gone(lock))
        kill(getpid(), SIGKILL);
    int failed = power_keep(handle, disk);
    close(lock);
    return failed;
}

int fsync(int handle)
{
    return synced(handle, "fsync");
}

int fdatasync(int handle)
{
    return synced(handle, "fdatasync");
}
