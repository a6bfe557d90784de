/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Compiled by kernel/build inside of the kernel that is tested, behind the
 * includes of kernel/sched/build_policy.c: where the tests find what they
 * read from the memory of the running kernel.  kernel/build says in HAVE_ what
 * the patches that are applied have brought.
 */
#include <linux/kbuild.h>

int main(void);

int main(void)
{
	OFFSET(RQ_CPU, rq, cpu);
	OFFSET(RQ_ONLINE, rq, online);
	OFFSET(RQ_RD, rq, rd);
	OFFSET(RQ_CURR, rq, curr);
	OFFSET(RQ_RT_OVERLOADED, rq, rt.overloaded);
	OFFSET(RQ_RT_NR_RUNNING, rq, rt.rt_nr_running);
	OFFSET(RQ_RT_CURR, rq, rt.highest_prio.curr);
	OFFSET(RQ_DL_CURR, rq, dl.earliest_dl.curr);
#ifdef CONFIG_RUNTIME_ISOLATION
#ifdef HAVE_rt_isolated
	OFFSET(RQ_RT_ISOLATED, rq, rt_isolated);
	OFFSET(RQ_RT_BALANCED, rq, rt_balanced);
#endif
#ifdef HAVE_rt_push_pull
	OFFSET(RQ_RT_PUSH_PULL, rq, rt_push_pull);
#endif
#endif
	OFFSET(RD_RTO_COUNT, root_domain, rto_count);
	OFFSET(RD_RTO_MASK, root_domain, rto_mask);
	OFFSET(RD_SPAN, root_domain, span);
	OFFSET(RD_CPUPRI, root_domain, cpupri);
	OFFSET(CPUPRI_CPU_TO_PRI, cpupri, cpu_to_pri);
	OFFSET(CPUPRI_VEC, cpupri, pri_to_cpu);
	DEFINE(CPUPRI_VEC_SIZE, sizeof(struct cpupri_vec));
	OFFSET(CPUPRI_VEC_COUNT, cpupri_vec, count);
	OFFSET(CPUPRI_VEC_MASK, cpupri_vec, mask);
	DEFINE(NR_PRIORITIES, CPUPRI_NR_PRIORITIES);
#ifdef CONFIG_THREAD_INFO_IN_TASK
	OFFSET(TASK_CPU, task_struct, thread_info.cpu);
#endif
	return 0;
}
