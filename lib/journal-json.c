/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "journal-json.h"

#include "journal.h"

/* Texts */

static json_t *text_to_json(const char *text) {
        json_t *string = json_string(text);
        _cleanup_free_ char *hex = NULL;

        if (string)
                return string;
        hex = calloc(strlen(text), 2);
        if (!hex)
                return NULL;
        for (size_t i = 0; text[i]; i++) {
                static const char digits[] = "0123456789abcdef";
                unsigned char byte = (unsigned char) text[i];

                hex[2 * i] = digits[byte >> 4];
                hex[2 * i + 1] = digits[byte & 15];
        }
        return json_pack("{s:s%}", "hex", hex, strlen(text) * 2);
}

static int nibble(char c) {
        if (c >= '0' && c <= '9')
                return c - '0';
        return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int text_from_hex(const char *hex, char **ret) {
        size_t n = strlen(hex) / 2;
        _cleanup_free_ char *text = calloc(n + 1, 1);

        if (!text)
                return -ENOMEM;
        if (strlen(hex) != 2 * n)
                return -EPROTO;
        for (size_t i = 0; i < n; i++) {
                int high = nibble(hex[2 * i]), low = nibble(hex[2 * i + 1]);

                if (high < 0 || low < 0)
                        return -EPROTO;
                text[i] = (char) (high << 4 | low);
        }
        *ret = TAKE_PTR(text);
        return 0;
}

static int text_from_json(const json_t *json, char **ret) {
        const char *text = json_string_value(json), *hex;
        char *copy;

        if (!text) {
                hex = json_string_value(json_object_get(json, "hex"));
                return hex ? text_from_hex(hex, ret) : -EPROTO;
        }
        copy = strdup(text);
        if (!copy)
                return -ENOMEM;
        *ret = copy;
        return 0;
}

int json_take(json_t *first, json_t *second, json_t **ret) {
        _cleanup_json_ json_t *once = first, *again = second;

        if (!once && !again && errno != ENOMEM) {
                *ret = NULL;
                return 0;
        }
        if (!once || !again || !json_equal(once, again))
                return -ENOMEM;
        *ret = TAKE_PTR(once);
        return 0;
}

int json_put_text(json_t *object, const char *key, const char *text) {
        if (!text)
                return 0;
        return json_object_set_new(object, key, text_to_json(text)) < 0 ? -ENOMEM : 0;
}

int json_get_text(const json_t *object, const char *key, char **ret) {
        const json_t *value = json_object_get(object, key);

        if (!value || json_is_null(value)) {
                *ret = NULL;
                return 0;
        }
        return text_from_json(value, ret);
}

int json_need_text(const json_t *object, const char *key, char **ret) {
        const json_t *value = json_object_get(object, key);

        return value ? text_from_json(value, ret) : -EPROTO;
}

int json_get_u64(const json_t *object, const char *key, uint64_t *ret) {
        const json_t *value = json_object_get(object, key);

        if (!json_is_integer(value) || json_integer_value(value) < 0)
                return -EPROTO;
        *ret = (uint64_t) json_integer_value(value);
        return 0;
}

static int get_int(const json_t *object, const char *key, int *ret) {
        const json_t *value = json_object_get(object, key);

        if (!json_is_integer(value))
                return -EPROTO;
        *ret = (int) json_integer_value(value);
        return 0;
}

/* Words whose numbers may change from one version to the next are written as words. */

static const struct {
        unsigned flag;
        const char *word;
} flag_words[] = {
        { STEP_REQUIRED, "required" },
        { STEP_TOLERANT, "tolerant" },
        { STEP_TRANSIENT, "transient" },
        { STEP_VOLATILE, "volatile" },
        { STEP_ACTION, "action" },
        { STEP_RECREATE, "recreate" },
        { STEP_UNRECORDED, "unrecorded" },
        { STEP_LEFT, "left" },
        { STEP_MADE_UP, "made-up" },
        { STEP_KEPT, "kept" },
};

static json_t *flags_to_json(unsigned flags) {
        _cleanup_json_ json_t *words = json_array();

        for (size_t i = 0; words && i < ARRAY_SIZE(flag_words); i++)
                if (flags & flag_words[i].flag &&
                        json_array_append_new(words, json_string(flag_words[i].word)) < 0)
                        return NULL;
        return TAKE_PTR(words);
}

static int flags_from_json(const json_t *words, unsigned *ret) {
        unsigned flags = 0;

        if (!json_is_array(words))
                return -EPROTO;
        for (size_t i = 0; i < json_array_size(words); i++) {
                const char *word = json_string_value(json_array_get(words, i));
                size_t k = 0;

                while (word && k < ARRAY_SIZE(flag_words) && !streq(flag_words[k].word, word))
                        k++;
                if (!word || k == ARRAY_SIZE(flag_words))
                        return -EPROTO;
                flags |= flag_words[k].flag;
        }
        *ret = flags;
        return 0;
}

static int mechanism_from_word(const char *word, Mechanism *ret) {
        for (unsigned m = 0; m < _MECHANISM_MAX; m++)
                if (streq(mechanism_to_string((Mechanism) m), word)) {
                        *ret = (Mechanism) m;
                        return 0;
                }
        return -EPROTO;
}

/* Steps.  `now` is left out: it is what was true once, and the machine says what is true. */

static const struct {
        const char *key;
        size_t offset;
        bool needed;
} step_texts[] = {
        { "id", offsetof(Step, id), true },
        { "object", offsetof(Step, object), true },
        { "before", offsetof(Step, before), false },
        { "wanted", offsetof(Step, wanted), true },
        { "within", offsetof(Step, within), false },
        { "reason", offsetof(Step, reason), false },
        { "disturbs", offsetof(Step, disturbs), false },
        { "set", offsetof(Step, set), false },
        { "backend", offsetof(Step, backend), false },
};

static char **step_text(const Step *step, size_t i) {
        return (char **) ((char *) step + step_texts[i].offset);
}

static json_t *step_to_json(const Step *step) {
        _cleanup_json_ json_t *object =
                json_pack("{s:s,s:s,s:s,s:i,s:i,s:o}", "kind", value_kind_to_string(step->kind), "phase",
                        phase_to_string(step->phase), "mechanism", mechanism_to_string(step->mechanism),
                        "order", step->order, "refused", step->refused, "flags", flags_to_json(step->flags));

        if (!object)
                return NULL;
        for (size_t i = 0; i < ARRAY_SIZE(step_texts); i++)
                if (json_put_text(object, step_texts[i].key, *step_text(step, i)) < 0)
                        return NULL;
        return TAKE_PTR(object);
}

static int step_words_from_json(const json_t *object, Step *step) {
        const char *kind = json_string_value(json_object_get(object, "kind"));
        const char *phase = json_string_value(json_object_get(object, "phase"));
        const char *mechanism = json_string_value(json_object_get(object, "mechanism"));

        if (!kind || !phase || !mechanism)
                return -EPROTO;
        step->kind = value_kind_from_string(kind);
        step->phase = phase_from_string(phase);
        if (step->kind == _VALUE_KIND_MAX || step->phase == _PHASE_MAX)
                return -EPROTO;
        return mechanism_from_word(mechanism, &step->mechanism);
}

static int step_from_json(const json_t *object, Step *ret) {
        Step step = {};
        int r = step_words_from_json(object, &step);

        r = r ?: get_int(object, "order", &step.order);
        r = r ?: get_int(object, "refused", &step.refused);
        r = r ?: flags_from_json(json_object_get(object, "flags"), &step.flags);
        for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(step_texts); i++)
                r = step_texts[i].needed ? json_need_text(object, step_texts[i].key, step_text(&step, i))
                                         : json_get_text(object, step_texts[i].key, step_text(&step, i));
        if (r < 0) {
                step_done(&step);
                return r;
        }
        *ret = step;
        return 0;
}

static const struct {
        const char *key;
        size_t offset;
} set_texts[] = {
        { "name", offsetof(StepSet, name) },
        { "cpus", offsetof(StepSet, cpus) },
        { "partition", offsetof(StepSet, partition) },
        { "nohz", offsetof(StepSet, nohz) },
        { "rt_push_pull", offsetof(StepSet, rt_push_pull) },
};

static char **set_text(const StepSet *set, size_t i) {
        return (char **) ((char *) set + set_texts[i].offset);
}

static json_t *set_to_json(const StepSet *set) {
        _cleanup_json_ json_t *object = json_object();

        for (size_t i = 0; i < ARRAY_SIZE(set_texts); i++)
                if (json_put_text(object, set_texts[i].key, *set_text(set, i)) < 0)
                        return NULL;
        return TAKE_PTR(object);
}

static int set_from_json(const json_t *object, Steps *steps) {
        StepSet set = {};
        int r = 0;

        for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(set_texts); i++)
                r = json_need_text(object, set_texts[i].key, set_text(&set, i));
        if (r >= 0)
                r = steps_add_set(steps, &set);
        for (size_t i = 0; i < ARRAY_SIZE(set_texts); i++)
                free(*set_text(&set, i));
        return r;
}

json_t *journal_steps_to_json(const Steps *steps) {
        _cleanup_json_ json_t *items = json_array(), *sets = json_array();

        for (size_t i = 0; i < steps->n; i++)
                if (json_array_append_new(items, step_to_json(&steps->items[i])) < 0)
                        return NULL;
        for (size_t i = 0; i < steps->n_sets; i++)
                if (json_array_append_new(sets, set_to_json(&steps->sets[i])) < 0)
                        return NULL;
        return json_pack("{s:O,s:O}", "steps", items, "sets", sets);
}

int journal_steps_from_json(const json_t *object, Steps *ret) {
        const json_t *items = json_object_get(object, "steps"), *sets = json_object_get(object, "sets");
        _cleanup_steps_ Steps steps = {};
        int r = 0;

        if (!json_is_array(items) || !json_is_array(sets))
                return -EPROTO;
        for (size_t i = 0; r >= 0 && i < json_array_size(items); i++) {
                Step step = {};

                r = step_from_json(json_array_get(items, i), &step);
                if (r >= 0)
                        r = steps_add(&steps, &step);
        }
        for (size_t i = 0; r >= 0 && i < json_array_size(sets); i++)
                r = set_from_json(json_array_get(sets, i), &steps);
        if (r < 0)
                return r;
        *ret = steps;
        steps = (Steps){};
        return 0;
}

/* Ops and switches */

static json_t *op_to_json(const Op *op) {
        _cleanup_json_ json_t *object =
                json_pack("{s:o,s:b}", "step", step_to_json(&op->step), "back", op->back);

        if (!object || json_put_text(object, "was", op->was) < 0 ||
                json_put_text(object, "target", op->target) < 0)
                return NULL;
        return TAKE_PTR(object);
}

static int op_from_json(const json_t *object, Op *ret) {
        Op op = { .back = json_is_true(json_object_get(object, "back")) };
        int r = step_from_json(json_object_get(object, "step"), &op.step);

        r = r ?: json_get_text(object, "was", &op.was);
        r = r ?: json_need_text(object, "target", &op.target);
        if (r < 0) {
                op_done(&op);
                return r;
        }
        *ret = op;
        return 0;
}

static int switch_add(Switch *sw, Op *op) {
        int r = GROW(sw->ops, sw->n_ops);

        if (r < 0) {
                op_done(op);
                return r;
        }
        sw->ops[sw->n_ops++] = *op;
        return 0;
}

json_t *switch_to_json(const Switch *sw) {
        _cleanup_json_ json_t *ops = json_array();

        for (size_t i = 0; i < sw->n_ops; i++)
                if (json_array_append_new(ops, op_to_json(&sw->ops[i])) < 0)
                        return NULL;
        return json_pack("{s:s,s:s,s:O,s:o}", "from", sw->from, "to", sw->to, "ops", ops, "in_force",
                journal_steps_to_json(&sw->in_force));
}

int switch_from_json(const json_t *object, Switch **ret) {
        _cleanup_switch_ Switch *sw = calloc(1, sizeof(Switch));
        const json_t *ops = json_object_get(object, "ops");
        int r;

        if (!sw)
                return -ENOMEM;
        if (!json_is_array(ops))
                return -EPROTO;
        r = json_need_text(object, "from", &sw->from);
        r = r ?: json_need_text(object, "to", &sw->to);
        r = r ?: journal_steps_from_json(json_object_get(object, "in_force"), &sw->in_force);
        for (size_t i = 0; r >= 0 && i < json_array_size(ops); i++) {
                Op op = {};

                r = op_from_json(json_array_get(ops, i), &op);
                if (r >= 0)
                        r = switch_add(sw, &op);
        }
        if (r < 0)
                return r;
        *ret = TAKE_PTR(sw);
        return 0;
}
