/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the rules' programs and the loader tell each other. This header is the only source; the loader's types are made
 * of it. A ccctl that finds maps of a format that it does not know in the kernel leaves them alone and says so.
 */
#ifndef CCCTL_RULE_RECORD_H
#define CCCTL_RULE_RECORD_H

#include "kernel/constants.h"
#include "own_params.h"

#define RULES_FORMAT 5
#define RULES_FORMAT_OF_CONDITIONS 4 /* that of rules without parameters: readers before parameters know it */
#define RULES_FORMAT_OF_SETTINGS 3 /* that of rules without conditions: readers before conditions know it */
#define RULES_FORMAT_OF_ALGORITHMS                                                                                     \
	2 /* that of rules which set nothing but an algorithm: readers before settings know it */
#define RULE_CHOICES 8
#define RULE_FALLBACKS 4 /* names in a choice, tried in order */
#define RULE_CGROUP_DEPTH 32 /* components of a cgroup's path that rules may name */
#define RULE_CGROUP_NAME_BYTES 256 /* NAME_MAX, with the closing zero */
#define RULE_SEARCH_STEPS 1024 /* port sets that one search may look at */
#define RULE_SCOPE_BITS 16 /* of the number of a scope */
#define RULE_WORD_BYTES 64 /* of a parameter's name, or of its value as people write it, with the closing zero */
#define RULE_NOTES 65536 /* of live connections; those beyond remember in storage of their sockets */

enum rule_event {
	RULE_CONNECT = 1, /* before the SYN */
	RULE_ACCEPT, /* the handshake is done */
	RULE_LISTEN,
	RULE_EXISTING, /* found alive by an iterator */
	RULE_ESTABLISHED, /* the handshake of a connection that was made is done, and its RTT known */
};

/* What a rule may set besides the algorithm. Values are in these units. */
enum rule_setting {
	RULE_INITIAL_WINDOW, /* packets */
	RULE_MIN_RTO, /* us */
	RULE_MAX_PACING_RATE, /* bytes per second; RULE_NO_LIMIT: none */
	RULE_NOTSENT_LOWAT, /* bytes; 0: what net.ipv4.tcp_notsent_lowat says */
	RULE_MAX_DELAYED_ACK, /* us */
	RULE_ECN, /* 1: the SYN asks for it */
	RULE_SETTINGS
};

#define RULE_NO_LIMIT 0xffffffffU

/* What a rule may ask of a socket besides its cgroup, peer and port. */
enum rule_condition {
	RULE_MARK, /* sk_mark, SO_MARK */
	RULE_PRIORITY, /* sk_priority, SO_PRIORITY */
	RULE_RTT_ABOVE, /* srtt_us, not known before the handshake is done: no rule with one of these two matches then */
	RULE_RTT_BELOW,
};

/* Element 0 of rules_header. */
struct rules_header {
	unsigned int format;
	unsigned int next_id; /* of the next rule: ids are not used twice while there are rules */
	unsigned int root_scope; /* of the root cgroup; 0: it has no rules */
	unsigned int rules; /* elements 1 ... rules of the map of this name */
};

/* One of several alternatives; which one a connection gets is drawn by weight. */
struct rule_choice {
	unsigned int weight;
	unsigned int weight_end; /* sum of the weights up to and with this one */
	char names[RULE_FALLBACKS][TCP_CA_NAME_MAX];
};

struct rule {
	unsigned long long added_ns; /* CLOCK_MONOTONIC */
	unsigned int id;
	unsigned int node; /* its cgroup */
	unsigned int choices; /* 0: the rule leaves the algorithm alone */
	unsigned int weight_sum;
	unsigned char family; /* of the prefix: 4, 6, or 0 for any peer */
	unsigned char prefix_bits;
	unsigned short port; /* of the service, host order; 0: any */
	unsigned char address[16];
	struct rule_choice choice[RULE_CHOICES];
	unsigned int settings; /* element of rule_settings; 0: it sets nothing but the algorithm */
};

/* A map of its own, so that maps of RULES_FORMAT_OF_ALGORITHMS are as they were. Element 0 is not used. */
struct rule_settings {
	unsigned int has; /* bits by enum rule_setting */
	unsigned int tick_us; /* the kernel's: it keeps times in ticks */
	unsigned int value[RULE_SETTINGS];
};

/*
 * Of the rule of the same index. A map of its own, so that maps of older formats are as they were; with element 0 alone where
 * no rule has conditions. Rules for the same cgroup, prefix and port are a chain, those with the most conditions first. The chain
 * of a port leads to that of any port.
 */
struct rule_conditions {
	unsigned int has; /* bits by enum rule_condition: all of them must hold */
	unsigned int next; /* rule to look at where this one does not match; 0: none */
	unsigned int mark; /* of the bits in mark_mask */
	unsigned int mark_mask;
	unsigned int priority;
	unsigned int rtt_us; /* the limit */
};

/* One of them as people write it: whoever reads the rules needs no instance to show them. */
struct rule_parameter {
	char name[RULE_WORD_BYTES];
	char value[RULE_WORD_BYTES];
};

/*
 * What a rule gives the connections that get the algorithm of one name (own_params.h), by the rule's id. A map of its own, which is
 * empty where no rule has parameters: rules of older formats are as they were.
 */
struct rule_parameters {
	struct cc_own_values values;
	struct rule_parameter written[CC_OWN_PARAMS]; /* by place, as the values */
};

/* cgroup_nodes: the cgroups that rules name, and those above them, by path component. The root is node 0. */
struct cgroup_key {
	unsigned int parent;
	char name[RULE_CGROUP_NAME_BYTES];
};

struct cgroup_node {
	unsigned int id;
	unsigned int scope; /* of the nearest cgroup with rules, itself included; 0: none */
};

/* The rules of one cgroup. */
struct rule_scope {
	unsigned int outer; /* the next cgroup with rules above; 0: none */
	unsigned int only_rule; /* the rule, where there is one for all peers and ports and no other; 0: look further */
	unsigned int any_peer; /* set of the rules without a prefix; 0: none */
	unsigned int has_prefixes;
};

/* rule_prefixes: the longest prefix of a scope that an address is in, to its set. */
struct prefix_key {
	unsigned int bits; /* of what follows */
	unsigned int scope;
	unsigned int family; /* 4 or 6; an IPv4-mapped address is IPv4 */
	unsigned char address[16];
};

#define PREFIX_KEY_BITS 64 /* scope and family, before the address */

/* The rules of one prefix of one scope. rule_ports has those of its ports, likewise. */
struct rule_set {
	unsigned int wider; /* set of the next shorter prefix; 0: none */
	unsigned int any_port; /* rule, the first of a chain; 0: none */
	unsigned int has_ports;
};

struct port_key {
	unsigned int set;
	unsigned int port; /* host order */
};

/* What a socket remembers of the rule that it met, if it has room: its process can fill its option memory. */
struct rule_assignment {
	unsigned long long at_ns; /* CLOCK_MONOTONIC */
	unsigned int rule_id;
	int error; /* 0, or why `wanted` was not given: a negative errno */
	unsigned int event; /* enum rule_event */
	unsigned int passive; /* it was accepted, or listens */
	char wanted[TCP_CA_NAME_MAX]; /* first name of its choice; empty: the rule leaves the algorithm alone */
	char given[TCP_CA_NAME_MAX]; /* the name that was set; empty: all were refused */
	char before[TCP_CA_NAME_MAX]; /* what it would use without rules; empty: no rule has set it */
};

/* That of a connection. It outlives its socket. */
struct rule_note {
	unsigned long long cookie; /* of the socket; 0: of none */
	struct rule_assignment assignment;
};

/* What came of one setting. */
struct rule_setting_memory {
	unsigned int wanted;
	unsigned int before; /* what the socket would have without rules */
	unsigned int given; /* what the kernel had when it was set: it rounds times up to ticks */
	int error; /* 0, or why `wanted` was not given: a negative errno */
};

/* Read-only data of the program. */
struct rules_settings {
	unsigned int has; /* of all rules together: the verifier takes out what is for others */
	char not_reno[TCP_CA_NAME_MAX]; /* an algorithm that the kernel has; empty: it has none but reno */
};

/* That of a connection which met a rule with settings. It outlives its socket. */
struct rule_settings_note {
	unsigned long long cookie; /* of the socket; 0: of none */
	unsigned int has; /* bits by enum rule_setting */
	unsigned int tick_us;
	unsigned int is_marked; /* the kernel has marked the socket for ECN, and the mark is to go */
	unsigned int has_flag; /* BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG was set for that, and is to go with it */
	struct rule_setting_memory setting[RULE_SETTINGS];
};

/* What an iterator is loaded for: the verifier sees no more than that. */
enum rule_task {
	RULE_REPORT, /* tell of every socket, or of the one with this cookie */
	RULE_COUNT, /* count sockets by rule */
	RULE_CHANGE, /* one change after the other */
};

/* The loader notes these numbers for whoever comes after a kill, which may be a newer ccctl. */
enum rule_change {
	RULE_FOLLOW = 2, /* listeners that met a rule follow the rules of now */
	RULE_MOVE, /* sockets that match rule_id get it */
	RULE_RELEASE, /* sockets that met rule_id get what they match now, or what they had */
	RULE_RESTORE, /* sockets that met any rule get what they had */
};

/* Of one run of an iterator. */
struct rule_query {
	unsigned long long cookie; /* RULE_REPORT: 0 for all */
	unsigned int change; /* RULE_CHANGE: enum rule_change */
	unsigned int rule_id;
};

enum rule_tally { RULE_FOUND, RULE_MOVED, RULE_SET, RULE_PARAMETERS, RULE_FAILED, RULE_TALLIES };

/* Written for each socket that is told of, and for each that could not be moved. */
struct rule_report {
	unsigned long long cookie;
	unsigned long long inode; /* of its file; 0: it has none (yet, or any more) */
	unsigned long long cgroup_id;
	unsigned char source[16]; /* network order; IPv4 in the first four bytes */
	unsigned char destination[16];
	char algorithm[TCP_CA_NAME_MAX];
	unsigned int map_id; /* struct_ops map of the program in use; 0: not a BPF algorithm */
	int error; /* of the move */
	int settings_error; /* of the settings */
	unsigned int matching; /* id of the rule that it matches now; 0: none */
	unsigned int depth; /* names of the path of its cgroup that follow, each of RULE_CGROUP_NAME_BYTES */
	unsigned short source_port; /* host order */
	unsigned short destination_port;
	unsigned short family; /* AF_INET or AF_INET6 */
	unsigned char state; /* enum tcp_state */
	unsigned char passive; /* of a socket that met no rule: its port has a listener */
	unsigned int mark; /* sk_mark */
	unsigned int priority; /* sk_priority */
	unsigned int has_rtt; /* one was measured */
	unsigned int rtt_us; /* smoothed */
	unsigned int has_assignment;
	unsigned int is_full; /* asked for by its cookie: it has none, and no room for one */
	unsigned int ecn_flags; /* TCP_ECN_OK, TCP_ECN_MODE_ACCECN: what both sides agreed to */
	unsigned int needs_ecn; /* its algorithm does: TCP_CONG_NEEDS_ECN */
	unsigned int has_settings; /* the note that follows is of this socket */
	unsigned int has_parameters; /* it has parameters of its own */
	unsigned int unused;
	struct rule_assignment assignment;
	struct rule_settings_note settings;
	struct cc_own_values parameters;
	unsigned int setting_now[RULE_SETTINGS]; /* what the kernel has now, where the note has it */
};

#endif
