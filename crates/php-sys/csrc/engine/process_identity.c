/*
 * The identity of the process and its view of the system: users and groups, session and process group,
 * name spaces, root directory.
 *
 * Some changes are final: a process that has given up root cannot become root again, and a process cannot leave its session.
 */
#include "engine/process_facts.h"

#include <grp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Files that differ in another name space, or below another root. */
static const char *const places[] = {
	"/", "/proc/self/ns/cgroup", "/proc/self/ns/ipc", "/proc/self/ns/mnt", "/proc/self/ns/net", "/proc/self/ns/pid_for_children",
	"/proc/self/ns/user", "/proc/self/ns/uts",
};
#define HEARTH_PLACES (sizeof places / sizeof *places)

typedef struct { dev_t device; ino_t inode; } place;

typedef struct {
	uid_t users[3];                  /* real, effective and saved */
	gid_t groups[3];
	pid_t session, process_group;
	place places[HEARTH_PLACES];
} identity;

static identity before;
static gid_t *supplementary;
static int supplementary_count;

static void read_places(place into[])
{
	for (size_t i = 0; i < HEARTH_PLACES; i++) {
		struct stat found;

		if (stat(places[i], &found) == 0) {
			into[i] = (place){found.st_dev, found.st_ino};
		}
	}
}

static void read_identity(identity *now)
{
	memset(now, 0, sizeof *now);
	getresuid(&now->users[0], &now->users[1], &now->users[2]);
	getresgid(&now->groups[0], &now->groups[1], &now->groups[2]);
	now->session = getsid(0);
	now->process_group = getpgrp();
	read_places(now->places);
}

/* Returns the number of groups; `*groups` is memory of malloc(). */
static int read_groups(gid_t **groups)
{
	int count = getgroups(0, NULL);

	*groups = calloc(count > 0 ? (size_t) count : 1, sizeof **groups);
	return *groups ? getgroups(count, *groups) : -1;
}

static bool has_same_supplementary(void)
{
	gid_t *now;
	int count = read_groups(&now);
	bool same = count == supplementary_count && (count <= 0 || memcmp(now, supplementary, (size_t) count * sizeof *now) == 0);

	free(now);
	return same;
}

void hearth_identity_note(void)
{
	read_identity(&before);
	free(supplementary);
	supplementary_count = read_groups(&supplementary);
}

/* Errors show in the state that is read afterwards. */
static void go_back(const identity *now)
{
	/* The users first: the right to restore the rest comes with them. */
	if (memcmp(now->users, before.users, sizeof now->users) != 0 && setresuid(before.users[0], before.users[1], before.users[2]) != 0) {
		return;
	}
	if (!has_same_supplementary() && supplementary_count >= 0 && setgroups((size_t) supplementary_count, supplementary) != 0) {
		return;
	}
	if (memcmp(now->groups, before.groups, sizeof now->groups) != 0 && setresgid(before.groups[0], before.groups[1], before.groups[2]) != 0) {
		return;
	}
	if (now->process_group != before.process_group) {
		setpgid(0, before.process_group);
	}
}

const char *hearth_identity_restore(void)
{
	identity now;

	read_identity(&now);
	go_back(&now);
	read_identity(&now);
	if (memcmp(now.users, before.users, sizeof now.users) != 0 || memcmp(now.groups, before.groups, sizeof now.groups) != 0 || !has_same_supplementary()) {
		return "the user or group";
	}
	if (now.session != before.session || now.process_group != before.process_group) {
		return "the session or process group";
	}
	return memcmp(now.places, before.places, sizeof now.places) != 0 ? "the name spaces or the root directory" : NULL;
}
