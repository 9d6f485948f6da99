// SPDX-License-Identifier: GPL-2.0-only
/* The types that hooks see as the simulator has them: build.rs compiles it for BPF without __bpf__, for its BTF alone. */
#include "cc.h"

struct tcp_sock socket_of_the_simulator;
struct ack_sample ack_sample_of_the_simulator;
struct rate_sample rate_sample_of_the_simulator;
