/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A QEMU plugin that counts what interrupts loop.c, in guest instructions: from leaving the loop to coming
 * back to it, for every virtual CPU.  No clock takes part, so a busy host does not disturb the figures.
 *
 * At the end it prints a line for every slot and CPU:
 *
 *   noise SLOT CPU rounds N interruptions N stolen N worst N */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "marker.h"

/* QEMU's plugin interface as far as it is used; Debian 12 has no package with its header.  Version 1 (QEMU 7.2)
 * and version 4 (QEMU 10) differ in how an instruction's bytes are handed out. */
typedef uint64_t qemu_plugin_id_t;
typedef struct qemu_info_t qemu_info_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_CB_R_REGS, QEMU_PLUGIN_CB_RW_REGS };
typedef void (*qemu_plugin_vcpu_tb_trans_cb_t)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);
typedef void (*qemu_plugin_vcpu_udata_cb_t)(unsigned int vcpu, void *userdata);
typedef void (*qemu_plugin_udata_cb_t)(qemu_plugin_id_t id, void *userdata);

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, qemu_plugin_vcpu_tb_trans_cb_t cb);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, qemu_plugin_vcpu_udata_cb_t cb,
        enum qemu_plugin_cb_flags flags, void *userdata);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, qemu_plugin_udata_cb_t cb, void *userdata);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);

#define EXPORT __attribute__((visibility("default")))
EXPORT extern int qemu_plugin_version;
EXPORT int qemu_plugin_version = 1;

typedef const void *(*DataInPlace)(const struct qemu_plugin_insn *insn);
typedef size_t (*DataCopied)(const struct qemu_plugin_insn *insn, void *ret_data, size_t size);

static void *insn_data; /* one of the two */

/* QEMU reads the version after it has loaded the plugin, so this is in time. */
__attribute__((constructor)) static void choose_version(void) {
        insn_data = dlsym(RTLD_DEFAULT, "qemu_plugin_insn_data");
        if (dlsym(RTLD_DEFAULT, "qemu_plugin_read_memory_vaddr"))
                qemu_plugin_version = 4;
}
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv);

typedef struct Slot {
        uint64_t rounds, interruptions, stolen, worst;
} Slot;

/* Only its own virtual CPU's thread touches one of these. */
typedef struct Cpu {
        Slot slots[SLOTS];
        int last;      /* the slot of the loop that ran last, -1 before any */
        uint64_t away; /* instructions since */
} Cpu;

static Cpu *cpus[CPU_LIMIT];

static Cpu *cpu_get(unsigned int vcpu) {
        if (vcpu >= CPU_LIMIT)
                return NULL;
        if (!cpus[vcpu]) {
                cpus[vcpu] = calloc(1, sizeof(Cpu));
                if (cpus[vcpu])
                        cpus[vcpu]->last = -1;
        }
        return cpus[vcpu];
}

static void on_loop(unsigned int vcpu, void *userdata) {
        Cpu *cpu = cpu_get(vcpu);
        int slot = (int) (intptr_t) userdata;

        if (!cpu)
                return;
        if (cpu->last == slot && cpu->away > 0) {
                cpu->slots[slot].interruptions++;
                cpu->slots[slot].stolen += cpu->away;
                if (cpu->away > cpu->slots[slot].worst)
                        cpu->slots[slot].worst = cpu->away;
        }
        cpu->slots[slot].rounds++;
        cpu->last = slot;
        cpu->away = 0;
}

static void on_other(unsigned int vcpu, void *userdata) {
        Cpu *cpu = cpu_get(vcpu);

        if (cpu && cpu->last >= 0)
                cpu->away += (uintptr_t) userdata;
}

static uint64_t loops[SLOTS]; /* where they are in their process */

/* A machine whose time is the number of its instructions takes a round to pieces where another CPU's turn comes: what
 * begins at one of its no-operations is not from elsewhere. */
static bool is_inside(const struct qemu_plugin_tb *tb) {
        uint64_t at = qemu_plugin_tb_vaddr(tb);

        for (int slot = 0; slot < SLOTS; slot++)
                if (loops[slot] && at > loops[slot] && at < loops[slot] + LOOP_SIZE)
                        return true;
        return false;
}

static int slot_of(const struct qemu_plugin_tb *tb) {
        const struct qemu_plugin_insn *first = qemu_plugin_tb_get_insn(tb, 0);
        size_t size = qemu_plugin_insn_size(first);
        uint8_t copy[MARKER_SIZE];

        if (size != MARKER_SIZE)
                return -1;
        if (qemu_plugin_version == 1)
                return marker_slot(((DataInPlace) insn_data)(first), size);
        return marker_slot(copy, ((DataCopied) insn_data)(first, copy, size));
}

static void on_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb) {
        int slot = slot_of(tb);

        if (slot >= 0) {
                loops[slot] = qemu_plugin_tb_vaddr(tb);
                qemu_plugin_register_vcpu_tb_exec_cb(
                        tb, on_loop, QEMU_PLUGIN_CB_NO_REGS, (void *) (intptr_t) slot);
        } else if (!is_inside(tb))
                qemu_plugin_register_vcpu_tb_exec_cb(tb, on_other, QEMU_PLUGIN_CB_NO_REGS,
                        (void *) (uintptr_t) qemu_plugin_tb_n_insns(tb));
}

static void report(qemu_plugin_id_t id, void *userdata) {
        for (int slot = 0; slot < SLOTS; slot++)
                for (int i = 0; i < CPU_LIMIT; i++) {
                        const Slot *s = cpus[i] ? &cpus[i]->slots[slot] : NULL;

                        if (s && s->rounds > 0)
                                fprintf(stderr,
                                        "noise %d %d rounds %" PRIu64 " interruptions %" PRIu64
                                        " stolen %" PRIu64 " worst %" PRIu64 "\n",
                                        slot, i, s->rounds, s->interruptions, s->stolen, s->worst);
                }
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv) {
        qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
        qemu_plugin_register_atexit_cb(id, report, NULL);
        return 0;
}
