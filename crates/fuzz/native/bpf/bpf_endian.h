/* SPDX-License-Identifier: GPL-2.0-only */
/* Nothing of it is needed by the programs that frames.c includes. */
