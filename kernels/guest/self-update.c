// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * self-update PIN MAP_ID: updates a pinned struct_ops link with the map that it already has.
 *
 * Kernels up to at least 7.3 crash in this with the lock of their list of TCP algorithms held for ever. It shows that
 * `ccctl doctor` notices. It refuses to run anywhere but in the guest that scripts/test-kernels throws away.
 */
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int bpf(int command, union bpf_attr *attributes)
{
	return syscall(SYS_bpf, command, attributes, sizeof(*attributes));
}

static int in_guest(void)
{
	FILE *file = fopen("/proc/cmdline", "r");
	char line[4096] = "";

	if (file) {
		if (!fgets(line, sizeof(line), file))
			line[0] = 0;
		fclose(file);
	}
	return strstr(line, "ccctl.guest=throw-away") != NULL;
}

int main(int count, char **words)
{
	union bpf_attr pin = { 0 }, id = { 0 }, update = { 0 };
	int link, map;

	if (count != 3 || !in_guest()) {
		fprintf(stderr, "self-update: only in a guest that is thrown away\n");
		return 2;
	}
	pin.pathname = (unsigned long)words[1];
	link = bpf(BPF_OBJ_GET, &pin);
	id.map_id = strtoul(words[2], NULL, 10);
	map = bpf(BPF_MAP_GET_FD_BY_ID, &id);
	if (link < 0 || map < 0) {
		perror("self-update: open link and map");
		return 2;
	}
	update.link_update.link_fd = link;
	update.link_update.new_prog_fd = map; /* in the same place as new_map_fd, which headers have since 6.4 */
	if (bpf(BPF_LINK_UPDATE, &update)) {
		perror("self-update: refused");
		return 1;
	}
	return 0;
}
