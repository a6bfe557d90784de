/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "strictest.h"

#include "covers.h"
#include "plan-sets.h"

/* One mode, and its sets on this machine. */
typedef struct Candidate {
        const char *mode;
        Profile *profile; /* NULL: it cannot be loaded, or its sets cannot be had here */
        Plan *plan;
} Candidate;

typedef struct Candidates {
        Candidate *items;
        size_t n;
        World *world;
} Candidates;

static void candidates_done(Candidates *candidates) {
        for (size_t i = 0; i < candidates->n; i++) {
                profile_free(candidates->items[i].profile);
                plan_free(candidates->items[i].plan);
        }
        free(candidates->items);
        world_free(candidates->world);
}

static int candidate_load(Kfs *kfs, const World *world, const char *mode, Candidate *ret) {
        _cleanup_profile_errors_ ProfileErrors errors = {};
        _cleanup_profile_ Profile *profile = NULL;
        _cleanup_plan_ Plan *plan = calloc(1, sizeof(Plan));
        int r = plan ? profile_load(kfs, mode, &profile, &errors) : -ENOMEM;

        *ret = (Candidate){ .mode = mode };
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        r = plan_sets(profile, world, NULL, PLAN_MEND, plan);
        if (r < 0 || plan->n_refusals > 0)
                return r;
        ret->profile = TAKE_PTR(profile);
        ret->plan = TAKE_PTR(plan);
        return 0;
}

static int candidates_add(Kfs *kfs, Candidates *candidates, const char *mode) {
        int r;

        for (size_t i = 0; i < candidates->n; i++)
                if (streq(candidates->items[i].mode, mode))
                        return 0;
        r = GROW(candidates->items, candidates->n);
        if (r < 0)
                return r;
        candidates->n++;
        return candidate_load(kfs, candidates->world, mode, &candidates->items[candidates->n - 1]);
}

static int candidate_covers(const Candidate *candidate, const Candidate *other, char **ret_why) {
        if (candidate == other)
                return 1;
        if (!candidate->profile || !other->profile)
                return util_asprintf(ret_why, "the profile %s cannot be used here",
                        candidate->profile ? other->mode : candidate->mode);
        return covers(candidate->profile, candidate->plan, other->profile, other->plan, ret_why);
}

/* 1 where it satisfies the n first ones; *ret_why (a sentence) is replaced where it does not. */
static int covers_all(const Candidates *candidates, const Candidate *candidate, size_t n, char **ret_why) {
        for (size_t i = 0; i < n; i++) {
                _cleanup_free_ char *why = NULL;
                char *sentence;
                int r = candidate_covers(candidate, &candidates->items[i], &why);

                if (r > 0)
                        continue;
                r = r
                        ?: util_asprintf(&sentence, "Mode %s does not satisfy %s: %s", candidate->mode,
                                   candidates->items[i].mode, why);
                if (r < 0)
                        return r;
                free(*ret_why);
                *ret_why = sentence;
                return 0;
        }
        return 1;
}

int strictest_find(Kfs *kfs, char *const *modes, const char *preferred, char **ret, char **ret_why) {
        _cleanup_(candidates_done) Candidates candidates = {};
        _cleanup_free_ char *why = NULL;
        size_t n;
        int r = world_new(kfs, &candidates.world);

        if (r < 0)
                return r;
        STRV_FOREACH (mode, modes)
                r = r ?: candidates_add(kfs, &candidates, *mode);
        n = candidates.n;
        if (preferred)
                r = r ?: candidates_add(kfs, &candidates, preferred);
        if (r < 0)
                return r;
        /* The preferred one is the last; where it is leased, too, it is found in its turn. */
        for (size_t i = candidates.n; i-- > 0;) {
                r = covers_all(&candidates, &candidates.items[i], n, &why);
                if (r < 0)
                        return r;
                if (r > 0)
                        return util_copy(candidates.items[i].mode, ret);
        }
        *ret_why = TAKE_PTR(why);
        return 0;
}

int strictest_satisfies(Kfs *kfs, const char *mode, char *const *modes, char **ret_why) {
        _cleanup_(candidates_done) Candidates candidates = {};
        _cleanup_free_ char *why = NULL;
        size_t n, i = 0;
        int r = world_new(kfs, &candidates.world);

        STRV_FOREACH (other, modes)
                r = r ?: candidates_add(kfs, &candidates, *other);
        n = candidates.n;
        r = r ?: candidates_add(kfs, &candidates, mode);
        if (r < 0)
                return r;
        while (!streq(candidates.items[i].mode, mode))
                i++;
        r = covers_all(&candidates, &candidates.items[i], n, &why);
        if (r == 0)
                *ret_why = TAKE_PTR(why);
        return r;
}
