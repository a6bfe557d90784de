/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "test.h"

#include <sys/stat.h>

#include "irq.h"
#include "tree.h"

static char *describe_irq(const WorldIrq *irq) {
        char *text = NULL;
        size_t size = 0;
        FILE *f = open_memstream(&text, &size);

        assert_non_null(f);
        fprintf(f, "%u|%s|%s|", irq->irq, irq->chip ?: "-", irq->name ?: "-");
        for (size_t i = 0; irq->counts && i < irq->n_counts; i++)
                fprintf(f, "%s%lu", i ? "," : "", (unsigned long) irq->counts[i]);
        assert_int_equal(fclose(f), 0);
        return text;
}

/* One row below a heading. */
static void test_rows(void **state) {
#define TWO "           CPU0       CPU1       \n"
        static const struct {
                const char *text, *expected; /* NULL: no such interrupt */
        } table[] = {
                { TWO " 25:   12   3   PCI-MSIX-0000:00:05.0   1-edge      virtio1-req.0\n",
                        "25|PCI-MSIX-0000:00:05.0|virtio1-req.0|12,3" },
                { TWO " 25:   12   3   PCI-MSI 524288-edge      virtio0-config\n",
                        "25|PCI-MSI|virtio0-config|12,3" },
                { TWO "  1:    0   9   IO-APIC   1-edge      i8042\n", "1|IO-APIC|i8042|0,9" },
                { TWO "  9:    0   0   IO-APIC   9-fasteoi   acpi, i801_smbus\n",
                        "9|IO-APIC|acpi,i801_smbus|0,0" },
                { TWO " 16:    0   0   IO-APIC  16-fasteoi   ehci_hcd:usb1, xhci_hcd:usb2\n",
                        "16|IO-APIC|ehci_hcd:usb1,xhci_hcd:usb2|0,0" },
                { TWO " 11:    5   6     GICv3  27 Level     arch_timer\n", "11|GICv3|arch_timer|5,6" },
                { TWO " 44:    5   6   ITS-MSI 524288 Edge      eth0\n", "44|ITS-MSI|eth0|5,6" },
                { TWO " 10:    5   6   SiFive PLIC   8 Edge      ttyS0\n", "10|SiFive PLIC|ttyS0|5,6" },
                { TWO " 17:    5   6      XICS  17 Level     hvc_console\n", "17|XICS|hvc_console|5,6" },
                { TWO "  2:    0   0    XT-PIC      cascade\n", "2|XT-PIC|cascade|0,0" },
                { TWO " 30:    5   6   PCI-MSI 30-edge      a name with  blanks\n",
                        "30|PCI-MSI|a name with  blanks|5,6" },
                { TWO " 31:    5   6   PCI-MSI 31-edge\n", "31|PCI-MSI||5,6" },
                { TWO " 31:    5   6\n", "31|||5,6" },
                { TWO "4294967295:    5   6   X 1-edge  y\n", "4294967295|X|y|5,6" },
                { TWO " 25:    4294967295 18446744073709551615   X 1-edge  y\n",
                        "25|X|y|4294967295,18446744073709551615" },
                /* Only online CPUs have columns. */
                { "     CPU0       CPU2       CPU17\n 7:  1 2 3  X 1-edge  y\n",
                        "7|X|y|1,0,2,0,0,0,0,0,0,0,0,0,0,0,0,0,0,3" },
                { "     CPU8\n 7:  1  X 1-edge  y\n", "7|X|y|0,0,0,0,0,0,0,0,1" },
                /* Cut short, or no interrupt with a number. */
                { TWO " 25:   12", NULL },
                { TWO " 25:", NULL },
                { TWO " 25", NULL },
                { TWO " 25:   12   IO-APIC", NULL },
                { TWO "LOC:   12   3   Local timer interrupts\n", NULL },
                { TWO "ERR:   12\n", NULL },
                { TWO "4294967296:    5   6   X 1-edge  y\n", NULL },
                { TWO, NULL },
                { "", NULL },
                { "\n\n\n", NULL },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_world_ World *world = calloc(1, sizeof(World));
                _cleanup_free_ char *text = NULL;

                assert_non_null(world);
                assert_int_equal(irq_parse_interrupts(world, table[i].text), 0);
                text = world->n_irqs ? describe_irq(&world->irqs[0]) : NULL;
                if (world->n_irqs > 1 || !text != !table[i].expected ||
                        (text && !streq(text, table[i].expected)))
                        fail_msg("%s: %s", table[i].text, text);
        }
}

/* Not the text of /proc/interrupts. */
static void test_headings(void **state) {
        static const char *const table[] = { "x", "CPU", "CPUx", "CPU0 CPU-1\n", "CPU0 1\n", "CPU65536\n",
                "CPU4294967296\n" };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_world_ World *world = calloc(1, sizeof(World));
                int r;

                assert_non_null(world);
                r = irq_parse_interrupts(world, table[i]);
                if (r != -EBADMSG)
                        fail_msg("%s: %d", table[i], r);
        }
}

static void test_vectors(void **state) {
        static const char text[] = "name:   VECTOR\n"
                                   " size:   0\n"
                                   "Global available:    786\n"
                                   "System: 38: 0-19,21,50,128,236,240-242,244,246-255\n"
                                   " | CPU | avl | man | mac | act | vectors\n"
                                   "     0   192     0     0     8  33-40\n"
                                   "     1     3     1     1     9  33-41\n"
                                   "    12   200     1     1     9  33-41\n";
        static const struct {
                const char *text, *cpus;
                int error;
                uint64_t n;
        } table[] = {
                { text, "0", 0, 192 },
                { text, "0-1", 0, 195 },
                { text, "1-20", 0, 203 },
                { text, "2-3", -ENODATA, 0 },
                { text, "", -ENODATA, 0 },
                { "", "0", -ENODATA, 0 },
                { "| CPU |", "0", -ENODATA, 0 },
                { "| CPU |\n 0", "0", -ENODATA, 0 },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_cpulist_ CpuList cpus = {};
                uint64_t n = 0;
                int r;

                assert_int_equal(cpulist_parse(table[i].cpus, &cpus, NULL), 0);
                r = irq_free_vectors(table[i].text, &cpus, &n);
                if (r != table[i].error || n != table[i].n)
                        fail_msg("%zu: %d, %lu", i, r, (unsigned long) n);
        }
}

#define DEBUG_LINE(flag) "dstate:   0x17401200\n            " flag "\nnode:     0\n"

/* What the files say of one interrupt. */
static void test_files(void **state) {
        static const struct {
                const char *files, *affinity, *effective; /* effective NULL: not told */
                const char *name;
                const char *debug;
                bool read_only, managed, writable;
        } table[] = {
                { "proc/irq/7/smp_affinity_list=0-3\nproc/irq/7/effective_affinity_list=2\n"
                  "sys/kernel/irq/7/actions=eth0-rx-0\nsys/kernel/irq/7/chip_name=PCI-MSIX\n",
                        "0-3", "2", "eth0-rx-0", NULL, false, false, true },
                { "proc/irq/7/smp_affinity=00000001,00000000,00000000\n", "64", NULL, "", NULL, false, false,
                        true },
                { "proc/irq/7/smp_affinity=f\nproc/irq/7/effective_affinity=1\n", "0-3", "0", "", NULL,
                        false, false, true },
                { "proc/irq/7/smp_affinity_list=0-3\n", "0-3", NULL, "", NULL, true, false, false },
                { "proc/irq/7/smp_affinity_list=3\n", "3", NULL, "", DEBUG_LINE("IRQD_AFFINITY_MANAGED"),
                        false, true, false },
                { "proc/irq/7/smp_affinity_list=3\n", "3", NULL, "", DEBUG_LINE("IRQD_PER_CPU"), false,
                        false, false },
                { "proc/irq/7/smp_affinity_list=3\n", "3", NULL, "", DEBUG_LINE("IRQD_AFFINITY_SET"), false,
                        false, true },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
                _cleanup_tree_ Tree *tree = tree_new();
                _cleanup_world_ World *world = NULL;
                _cleanup_free_ char *live = NULL, *effective = NULL, *file = NULL;
                const WorldIrq *irq;

                tree_put_cpus(tree, 1, 4, 1, false);
                tree_put(tree, "proc/irq/default_smp_affinity", "f\n");
                tree_put(tree, "proc/irq/7/spurious", "count 0\n");
                tree_fill(tree, table[i].files);
                if (table[i].debug)
                        tree_put(tree, "sys/kernel/debug/irq/irqs/7", table[i].debug);
                if (table[i].read_only) {
                        assert_int_equal(
                                util_asprintf(&file, "%s/proc/irq/7/smp_affinity_list", tree->root), 0);
                        assert_int_equal(chmod(file, 0444), 0);
                }
                assert_int_equal(world_new(tree->kfs, &world), 0);
                assert_int_equal(irq_read(world), 0);
                irq = world_irq(world, 7);
                assert_non_null(irq);
                assert_int_equal(cpulist_format(&irq->live, &live), 0);
                assert_int_equal(cpulist_format(&irq->effective, &effective), 0);
                if (!streq(live, table[i].affinity) || irq->has_effective != !!table[i].effective ||
                        !streq(effective, table[i].effective ?: "") || !streq(irq->name, table[i].name) ||
                        irq->managed != table[i].managed || irq->writable != table[i].writable)
                        fail_msg("%s: %s, %s, %s, managed %d, writable %d", table[i].files, live, effective,
                                irq->name, irq->managed, irq->writable);
        }
}

/* Files and /proc/interrupts are about the same interrupts; gone ones and folders of other names do no
 * harm. */
static void test_together(void **state) {
        _cleanup_tree_ Tree *tree = tree_new();
        _cleanup_world_ World *world = NULL;
        _cleanup_free_ char *first = NULL, *second = NULL;

        tree_put_cpus(tree, 1, 2, 1, false);
        tree_fill(tree,
                "proc/irq/default_smp_affinity=3\nproc/irq/10/smp_affinity_list=0-1\n"
                "proc/irq/9/smp_affinity_list=1\nproc/irq/x/y=\nproc/irq/11/spurious=\n"
                "sys/kernel/irq/9/actions=acpi\n");
        tree_put(tree, "proc/interrupts",
                "           CPU0       CPU1\n  8:  1 2  IO-APIC  8-edge  rtc0\n  9:  3 4  IO-APIC  "
                "9-fasteoi  acpi\n"
                " 10:  5 6  IO-APIC  10-edge  other\n");
        assert_int_equal(world_new(tree->kfs, &world), 0);
        assert_int_equal(irq_read(world), 0);
        assert_int_equal(world->n_irqs, 3);
        first = describe_irq(&world->irqs[0]);
        second = describe_irq(&world->irqs[1]);
        assert_string_equal(first, "8|IO-APIC|rtc0|1,2");
        assert_false(world->irqs[0].writable);
        assert_string_equal(second, "9|IO-APIC|acpi|3,4");
        assert_string_equal(world->irqs[2].name, "other");
        assert_true(world->irqs[2].writable);
        assert_int_equal(cpulist_count(&world->irq_default_live), 2);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_rows),
                cmocka_unit_test(test_headings),
                cmocka_unit_test(test_vectors),
                cmocka_unit_test(test_files),
                cmocka_unit_test(test_together),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
