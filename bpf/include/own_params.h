/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Parameters that a rule has given to one connection: elements of the map cc_own_params, by the address of the socket.
 *
 * There is one such map for all rules and instances, pinned below ccctl's folder. The rules' program writes an element just
 * before it sets the algorithm, and the algorithm's init reads it (CC_OWN_PARAM): the values survive a swap and a migration to
 * the new program, whose init is called. Storage of a socket would not do: it comes out of the option memory of the socket,
 * which its process can fill. An element outlives its socket, and has the cookie of the one that it is of: cookies are not used
 * twice.
 *
 * The struct is shared with the loader (ccctl_loader::rules).
 */
#ifndef CCCTL_OWN_PARAMS_H
#define CCCTL_OWN_PARAMS_H

#include "kernel/constants.h"
#include "limits.h"

#define CC_OWN_SOCKETS 65536 /* live ones; those beyond are not given the algorithm */

/* For which programs values are: those of this kernel name that declare the same parameters. */
struct cc_own_instance {
	char name[TCP_CA_NAME_MAX];
	unsigned long long declared; /* hash of what its file declares; 0: of nothing */
};

struct cc_own_values {
	struct cc_own_instance instance;
	unsigned int has; /* bits by place among the parameters per connection */
	unsigned int value[CC_OWN_PARAMS]; /* by place */
	unsigned int unused;
};

struct cc_own_params {
	unsigned long long cookie; /* of the socket; 0: of none */
	unsigned long long changes; /* times that rules have changed it */
	struct cc_own_values values;
};

#endif
