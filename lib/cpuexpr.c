/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cpuexpr.h"
#include "words.h"

#include <stdarg.h>

/* What one evaluation works with.  Without a topology only the grammar is checked. */
typedef struct Expr {
        const Topology *topology;
        CpuExprSet sets;
        void *userdata;
        CpuExprError *error; /* or NULL */
} Expr;

/* One term, without its `^`, and where it stands in the expression. */
typedef struct Term {
        char *text;
        size_t column;        /* of text, from 1 */
        const char *argument; /* behind the colon, or NULL */
} Term;

void cpuexpr_error_done(CpuExprError *error) {
        free(error->message);
        *error = (CpuExprError){ 0 };
}

static int _printf_(3, 4) expr_fail(const Expr *expr, size_t column, const char *format, ...) {
        char *message;
        va_list ap;
        int r;

        if (!expr->error)
                return -EINVAL;
        va_start(ap, format);
        r = util_vasprintf(&message, format, ap);
        va_end(ap);
        if (r < 0)
                return r;
        *expr->error = (CpuExprError){ .column = column, .message = message };
        return -EINVAL;
}

static size_t column_of(const Term *term, const char *p) {
        return term->column + (size_t) (p - term->text);
}

/* Says what is wrong at p with the numbers of a term. */
static int numbers_fail(const Expr *expr, const Term *term, const char *p, int error) {
        size_t column = column_of(term, p);
        bool digit = *p >= '0' && *p <= '9';
        char before = p > term->text ? p[-1] : '\0';

        if (error == -ENOMEM)
                return error;
        if (error == -ERANGE)
                return expr_fail(expr, column, "the number in \"%s\" is too large", term->text);
        if (*p == '\0')
                return expr_fail(expr, column, "a number is missing at the end of \"%s\"", term->text);
        if (before == '-' && (digit || *p == 'N'))
                return expr_fail(expr, column, "\"%s\" ends before it begins", term->text);
        if (before == ':' && digit)
                return expr_fail(expr, column,
                        "in \"%s\" the CPUs used must be 1 to the size of the group, as in 0-31:2/8",
                        term->text);
        if (before == '0' && (*p == 'x' || *p == 'X'))
                return expr_fail(
                        expr, column, "\"%s\" is a hexadecimal mask: write a list, as 0-3,8", term->text);
        if ((unsigned char) *p >= 0x80)
                return expr_fail(expr, column, "\"%s\" is not written in ASCII", term->text);
        if (*p == ' ' || *p == '\t')
                return expr_fail(expr, column, "\"%s\" has white space inside: a comma goes between terms",
                        term->text);
        return expr_fail(expr, column, "'%c' does not belong in \"%s\": write %s", *p, term->text,
                term->argument ? "a number or two, as 0-1" : "a list, as 0-3,8");
}

static int check_possible(const Expr *expr, const Term *term, const CpuList *cpus) {
        _cleanup_cpulist_ CpuList beyond = { 0 };
        _cleanup_free_ char *possible = NULL, *text = NULL;
        int r = cpulist_copy(cpus, &beyond);

        if (r < 0)
                return r;
        cpulist_subtract(&beyond, &expr->topology->possible);
        if (cpulist_is_empty(&beyond))
                return 0;
        r = cpulist_format(&beyond, &text);
        if (r == 0)
                r = cpulist_format(&expr->topology->possible, &possible);
        if (r < 0)
                return r;
        return expr_fail(expr, term->column,
                "\"%s\" names CPU %s, which this machine cannot have: it has %s", term->text, text,
                possible);
}

/* `3`, `4-7`, `0-31:2/8`, `4-N` at p. */
static int read_cpus(const Expr *expr, const Term *term, const char *p, CpuList *ret) {
        _cleanup_cpulist_ CpuList list = { 0 };
        int last = expr->topology ? cpulist_last(&expr->topology->possible) : (int) CPULIST_MAX;
        int r = cpulist_parse_range(&p, last, &list);

        if (r < 0 || *p)
                return numbers_fail(expr, term, p, r);
        if (expr->topology) {
                r = check_possible(expr, term, &list);
                if (r < 0)
                        return r;
        }
        *ret = cpulist_take(&list);
        return 0;
}

static int read_number(const Expr *expr, const Term *term, const char **p, unsigned *ret) {
        size_t n = strspn(*p, "0123456789");
        _cleanup_free_ char *digits = strndup(*p, n);
        int r;

        if (!digits)
                return -ENOMEM;
        r = util_parse_unsigned(digits, ret);
        if (r < 0)
                return numbers_fail(expr, term, *p, r);
        *p += n;
        return 0;
}

/* `0` or `0-1`: the numbers of nodes and the like. */
static int read_numbers(const Expr *expr, const Term *term, unsigned *ret_first, unsigned *ret_last) {
        const char *p = term->argument, *second;
        unsigned first, last;
        int r = read_number(expr, term, &p, &first);

        if (r < 0)
                return r;
        last = first;
        if (*p == '-') {
                second = ++p;
                r = read_number(expr, term, &p, &last);
                if (r < 0)
                        return r;
                if (last < first)
                        return numbers_fail(expr, term, second, -EINVAL);
        }
        if (*p)
                return numbers_fail(expr, term, p, -EINVAL);
        *ret_first = first;
        *ret_last = last;
        return 0;
}

typedef struct Group {
        const char *name;
        int (*cpus)(const Topology *topology, unsigned number, CpuList *ret);
        size_t offset; /* of the number in TopologyCpu */
} Group;

/* "there is no core 9: this machine has 0-7" */
static int group_fail(const Expr *expr, const Term *term, const Group *group, unsigned number) {
        _cleanup_cpulist_ CpuList known = { 0 };
        _cleanup_free_ char *text = NULL;
        bool more = false;
        int r;

        for (size_t i = 0; i < expr->topology->n_cpus; i++) {
                int n = *(const int *) ((const char *) &expr->topology->cpus[i] + group->offset);

                r = n < 0 ? 0 : cpulist_add(&known, (unsigned) n);
                if (r == -ERANGE)
                        more = true;
                else if (r < 0)
                        return r;
        }
        if (cpulist_is_empty(&known))
                return expr_fail(expr, column_of(term, term->argument),
                        "there is no %s %u: this machine does not say which it has", group->name, number);
        r = cpulist_format(&known, &text);
        if (r < 0)
                return r;
        return expr_fail(expr, column_of(term, term->argument),
                "there is no %s %u with CPUs: this machine has %s%s", group->name, number, text,
                more ? " and some with larger numbers" : "");
}

static int evaluate_group(const Expr *expr, const Term *term, const Group *group, CpuList *ret) {
        _cleanup_cpulist_ CpuList list = { 0 };
        unsigned first = 0, last = 0;
        int r = read_numbers(expr, term, &first, &last);

        if (r < 0 || !expr->topology)
                return r;
        for (uint64_t number = first; number <= last; number++) {
                _cleanup_cpulist_ CpuList cpus = { 0 };

                r = group->cpus(expr->topology, (unsigned) number, &cpus);
                if (r == -ENOENT)
                        return group_fail(expr, term, group, (unsigned) number);
                if (r == 0)
                        r = cpulist_union(&list, &cpus);
                if (r < 0)
                        return r;
        }
        *ret = cpulist_take(&list);
        return 0;
}

static int term_node(const Expr *expr, const Term *term, CpuList *ret) {
        static const Group group = { "NUMA node", topology_node_cpus, offsetof(TopologyCpu, node) };

        return evaluate_group(expr, term, &group, ret);
}

static int term_package(const Expr *expr, const Term *term, CpuList *ret) {
        static const Group group = { "package", topology_package_cpus, offsetof(TopologyCpu, package) };

        return evaluate_group(expr, term, &group, ret);
}

static int term_core(const Expr *expr, const Term *term, CpuList *ret) {
        static const Group group = { "core", topology_core_cpus, offsetof(TopologyCpu, core) };

        return evaluate_group(expr, term, &group, ret);
}

static int term_llc(const Expr *expr, const Term *term, CpuList *ret) {
        static const Group group = { "last-level cache", topology_llc_cpus, offsetof(TopologyCpu, llc) };

        return evaluate_group(expr, term, &group, ret);
}

static int term_all(const Expr *expr, const Term *term, CpuList *ret) {
        return expr->topology ? cpulist_copy(&expr->topology->possible, ret) : 0;
}

static int term_online(const Expr *expr, const Term *term, CpuList *ret) {
        return expr->topology ? cpulist_copy(&expr->topology->online, ret) : 0;
}

static int term_siblings(const Expr *expr, const Term *term, CpuList *ret) {
        _cleanup_cpulist_ CpuList cpus = { 0 };
        int r = read_cpus(expr, term, term->argument, &cpus);

        if (r < 0 || !expr->topology)
                return r;
        r = topology_siblings(expr->topology, &cpus, ret);
        if (r == 0)
                cpulist_intersect(ret, &expr->topology->online);
        return r;
}

static bool set_name_is_valid(const char *name) {
        size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");

        return *name >= 'a' && *name <= 'z' && name[n] == '\0' && n <= 32;
}

static int term_set(const Expr *expr, const Term *term, CpuList *ret) {
        size_t column = column_of(term, term->argument);
        int r;

        if (!set_name_is_valid(term->argument))
                return expr_fail(expr, column,
                        "\"%s\" is no name of a set: a small letter, then small letters, digits and _",
                        term->argument);
        if (!expr->topology)
                return 0;
        r = expr->sets ? expr->sets(expr->userdata, term->argument, ret) : -ENOENT;
        if (r == -ENOENT)
                return expr_fail(expr, column, "there is no set \"%s\"", term->argument);
        if (r == -ELOOP)
                return expr_fail(expr, column, "set \"%s\" is made of itself", term->argument);
        return r;
}

/* Takes the first n cores that have online CPUs in the node out of list. */
static int take_away_cores(const Topology *topology, unsigned node, unsigned n, CpuList *list) {
        _cleanup_cpulist_ CpuList cpus = { 0 };
        int r = topology_node_cpus(topology, node, &cpus);

        if (r < 0)
                return r;
        for (; n > 0 && !cpulist_is_empty(&cpus); n--) {
                unsigned first = (unsigned) cpulist_next(&cpus, -1);
                const TopologyCpu *cpu = topology_cpu(topology, first);

                cpulist_subtract(list, &cpu->siblings);
                cpulist_subtract(&cpus, &cpu->siblings);
        }
        return 0;
}

static int term_auto(const Expr *expr, const Term *term, CpuList *ret) {
        _cleanup_cpulist_ CpuList list = { 0 };
        unsigned n = 1;
        int r;

        if (term->argument) {
                const char *p = term->argument;

                r = read_number(expr, term, &p, &n);
                if (r < 0)
                        return r;
                if (*p)
                        return numbers_fail(expr, term, p, -EINVAL);
                if (n == 0)
                        return expr_fail(expr, column_of(term, term->argument),
                                "auto leaves at least one core of each node to the rest of the system");
        }
        if (!expr->topology)
                return 0;
        r = cpulist_copy(&expr->topology->online, &list);
        CPULIST_FOREACH (node, &expr->topology->nodes)
                if (r == 0)
                        r = take_away_cores(expr->topology, (unsigned) node, n, &list);
        /* One core, or one on each node: its first CPU is all that can be left to the rest. */
        if (r == 0 && cpulist_is_empty(&list)) {
                r = cpulist_union(&list, &expr->topology->online);
                cpulist_remove(&list, (unsigned) cpulist_next(&list, -1));
        }
        if (r < 0)
                return r;
        *ret = cpulist_take(&list);
        return 0;
}

typedef enum Argument { ARGUMENT_NONE, ARGUMENT_MAY, ARGUMENT_MUST } Argument;

static const struct {
        const char *word;
        Argument argument;
        int (*evaluate)(const Expr *expr, const Term *term, CpuList *ret);
        const char *example;
} words[] = {
        { "all", ARGUMENT_NONE, term_all, "all" },
        { "online", ARGUMENT_NONE, term_online, "online" },
        { "node", ARGUMENT_MUST, term_node, "node:0" },
        { "package", ARGUMENT_MUST, term_package, "package:0" },
        { "core", ARGUMENT_MUST, term_core, "core:2" },
        { "llc", ARGUMENT_MUST, term_llc, "llc:0" },
        { "siblings", ARGUMENT_MUST, term_siblings, "siblings:4-7" },
        { "set", ARGUMENT_MUST, term_set, "set:rt" },
        { "auto", ARGUMENT_MAY, term_auto, "auto:2" },
};

static int word_fail(const Expr *expr, const Term *term, const char *word) {
        const char *known[ARRAY_SIZE(words)], *nearest;

        for (size_t i = 0; i < ARRAY_SIZE(words); i++)
                known[i] = words[i].word;
        nearest = words_nearest(word, known, ARRAY_SIZE(known));
        if (nearest)
                return expr_fail(
                        expr, term->column, "\"%s\" is not known; did you mean \"%s\"?", word, nearest);
        return expr_fail(expr, term->column,
                "\"%s\" is not known; write a list, as 0-3,8, or all, N, online, node:, package:, core:, "
                "llc:, "
                "siblings:, set: or auto",
                word);
}

/* A term that starts with a letter: `node:0`. */
static int evaluate_word(const Expr *expr, Term *term, CpuList *ret) {
        size_t n = strcspn(term->text, ":");
        _cleanup_free_ char *word = strndup(term->text, n);

        if (!word)
                return -ENOMEM;
        term->argument = term->text[n] == ':' ? term->text + n + 1 : NULL;
        for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
                if (!streq(word, words[i].word))
                        continue;
                if (term->argument && words[i].argument == ARGUMENT_NONE)
                        return expr_fail(expr, term->column + n, "nothing goes behind \"%s\"", word);
                if (!term->argument && words[i].argument == ARGUMENT_MUST)
                        return expr_fail(expr, term->column + n, "\"%s\" needs to be told which, as in %s",
                                word, words[i].example);
                return words[i].evaluate(expr, term, ret);
        }
        return word_fail(expr, term, word);
}

static bool is_letter(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* `N`, `N-N`: a number, not a word. */
static bool is_last_cpu(const char *text) {
        return text[0] == 'N' && !is_letter(text[1]);
}

static int evaluate_term(const Expr *expr, Term *term, CpuList *list) {
        _cleanup_cpulist_ CpuList cpus = { 0 };
        bool away = *term->text == '^';
        Term inner = { .text = term->text + away, .column = term->column + away };
        int r;

        if (!*inner.text)
                return expr_fail(
                        expr, inner.column, away ? "a term is missing behind ^" : "a term is missing");
        if (*inner.text == ' ' || *inner.text == '\t')
                return expr_fail(expr, inner.column, "no white space goes behind ^");
        if (is_letter(*inner.text) && !is_last_cpu(inner.text))
                r = evaluate_word(expr, &inner, &cpus);
        else
                r = read_cpus(expr, &inner, inner.text, &cpus);
        if (r < 0)
                return r;
        if (away) {
                cpulist_subtract(list, &cpus);
                return 0;
        }
        return cpulist_union(list, &cpus);
}

static int evaluate(const Expr *expr, const char *expression, CpuList *list) {
        static const char space[] = " \t\n\r";
        const char *p = expression;

        for (;;) {
                const char *start = p + strspn(p, space), *comma = start + strcspn(start, ","), *end = comma;
                _cleanup_free_ char *text = NULL;
                int r;

                while (end > start && strchr(space, end[-1]))
                        end--;
                text = strndup(start, (size_t) (end - start));
                if (!text)
                        return -ENOMEM;
                r = evaluate_term(
                        expr, &(Term){ .text = text, .column = (size_t) (start - expression) + 1 }, list);
                if (r < 0)
                        return r;
                if (!*comma)
                        return 0;
                p = comma + 1;
        }
}

int cpuexpr_check(const char *expression, CpuExprError *ret_error) {
        _cleanup_cpulist_ CpuList list = { 0 };
        Expr expr = { .error = ret_error };

        return evaluate(&expr, expression, &list);
}

int cpuexpr_evaluate(const char *expression, const Topology *topology, CpuExprSet sets, void *userdata,
        CpuList *ret, CpuExprError *ret_error) {
        Expr expr = { .topology = topology, .sets = sets, .userdata = userdata, .error = ret_error };
        _cleanup_cpulist_ CpuList list = { 0 };
        int r = cpuexpr_check(expression, ret_error);

        if (r == 0)
                r = evaluate(&expr, expression, &list);
        if (r < 0)
                return r;
        *ret = cpulist_take(&list);
        return 0;
}
