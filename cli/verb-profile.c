/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "machine.h"
#include "record.h"

/* One line of `profile list`: a profile that cannot be read is listed with what is wrong. */
static json_t *list_entry(Kfs *kfs, const char *name) {
        _cleanup_profile_errors_ ProfileErrors errors = {};
        _cleanup_profile_ Profile *profile = NULL;
        _cleanup_free_ char *sentence = NULL;
        int r = profile_load(kfs, name, &profile, &errors);

        if (r == 0)
                return json_pack("{s:o, s:o, s:o, s:b}", "name", record_text(name), "description",
                        record_text(profile->description ?: ""), "file", record_text(profile->file ?: ""),
                        "valid", 1);
        if (errors.n > 0)
                (void) profile_error_sentence(&errors.items[0], &sentence);
        return json_pack("{s:o, s:o, s:o, s:b}", "name", record_text(name), "description",
                record_text(sentence ?: strerror(-r)), "file",
                record_text(errors.n > 0 ? errors.items[0].file : ""), "valid", 0);
}

/* A file that is no profile for its name alone: /etc/rtisold/profiles/a b.ini. */
static json_t *misnamed_entry(const char *file) {
        const char *base = strrchr(file, '/') + 1;
        _cleanup_free_ char *name = strndup(base, strlen(base) - strlen(".ini")), *why = NULL,
                            *sentence = NULL;

        if (!name || profile_check_name(name, &why) != -EINVAL ||
                util_asprintf(&sentence, "%s: name not allowed: %s", file, why) < 0)
                return NULL;
        return json_pack("{s:o, s:o, s:o, s:b}", "name", record_text(name), "description",
                record_text(sentence), "file", record_text(file), "valid", 0);
}

/* All profiles, and what is none in their folders. */
static int fill_list(Kfs *kfs, json_t *list) {
        _cleanup_strv_ char **names = NULL, **misnamed = NULL;
        int r = profile_list(kfs, &names);

        r = r ?: profile_list_misnamed(kfs, &misnamed);
        if (r < 0)
                return r;
        STRV_FOREACH (name, names)
                if (json_array_append_new(list, list_entry(kfs, *name)) < 0)
                        return -ENOMEM;
        STRV_FOREACH (file, misnamed)
                if (json_array_append_new(list, misnamed_entry(*file)) < 0)
                        return -ENOMEM;
        return 0;
}

static int profile_list_verb(Cli *cli) {
        static const Column columns[] = { { "PROFILE", "name" }, { "DESCRIPTION", "description" } };
        _cleanup_record_ json_t *list = json_array(), *record = NULL;
        _cleanup_kfs_ Kfs *kfs = NULL;
        int r = cli_open_machine(cli, &kfs);

        if (r < 0)
                return EXIT_REFUSED;
        r = fill_list(kfs, list);
        if (r < 0)
                return r;
        if (!cli_has(cli, OPTION_JSON))
                return record_print_table(list, columns, ARRAY_SIZE(columns), cli->colour);
        record = json_pack("{s:i, s:O}", "version", 1, "profiles", list);
        return record ? record_print_json(record, false) : -ENOMEM;
}

static json_t *lines_record(const Profile *profile) {
        json_t *lines = json_array();

        for (size_t i = 0; lines && i < profile->n_lines; i++) {
                const ProfileLine *line = &profile->lines[i];

                if (json_array_append_new(lines,
                            json_pack("{s:o, s:o, s:o, s:o, s:I}", "section", record_text(line->section),
                                    "key", record_text(line->key), "value", record_text(line->value), "file",
                                    record_text(line->source.file), "line",
                                    (json_int_t) line->source.line)) < 0) {
                        json_decref(lines);
                        return NULL;
                }
        }
        return lines;
}

static int profile_show_verb(Cli *cli) {
        _cleanup_profile_ Profile *profile = NULL;
        _cleanup_record_ json_t *record = NULL;
        _cleanup_free_ char *text = NULL;
        _cleanup_machine_ Machine machine = {};
        int r;

        if (machine_open(cli, &machine) < 0)
                return EXIT_REFUSED;
        r = machine_load_profile(&machine, cli->arguments[1], &profile);
        if (r != EXIT_HOLDS)
                return r;
        if (!cli_has(cli, OPTION_JSON)) {
                r = profile_format(profile, true, &text);
                if (r == 0)
                        fputs(text, stdout);
                return r;
        }
        record = json_pack("{s:i, s:o, s:o, s:o, s:o, s:o}", "version", 1, "name",
                record_text(profile->name), "description", record_text(profile->description ?: ""), "file",
                record_text(profile->file ?: ""), "sha256", record_text(profile->sha256), "lines",
                lines_record(profile));
        return record ? record_print_json(record, false) : -ENOMEM;
}

static json_t *errors_record(const ProfileErrors *errors) {
        json_t *list = json_array();

        for (size_t i = 0; list && i < errors->n; i++) {
                const ProfileError *error = &errors->items[i];

                if (json_array_append_new(list,
                            json_pack("{s:o, s:I, s:o, s:o}", "file", record_text(error->file), "line",
                                    (json_int_t) error->line, "key", record_text(error->key), "message",
                                    record_text(error->message))) < 0) {
                        json_decref(list);
                        return NULL;
                }
        }
        return list;
}

/* Checks one file and adds it to the list: EXIT_HOLDS, EXIT_USAGE, or a negative errno. */
static int check_file(const char *path, json_t *list) {
        _cleanup_profile_errors_ ProfileErrors errors = {};
        int r = profile_check_file(path, &errors);

        if (r < 0 && r != -EINVAL) {
                cli_error("%s cannot be read: %s", path, strerror(-r));
                return r == -ENOMEM ? r : EXIT_USAGE;
        }
        for (size_t i = 0; i < errors.n; i++) {
                _cleanup_free_ char *sentence = NULL;

                if (profile_error_sentence(&errors.items[i], &sentence) < 0)
                        return -ENOMEM;
                cli_error("%s", sentence);
        }
        if (json_array_append_new(list,
                    json_pack("{s:o, s:b, s:o}", "file", record_text(path), "valid", errors.n == 0, "errors",
                            errors_record(&errors))) < 0)
                return -ENOMEM;
        return errors.n == 0 ? EXIT_HOLDS : EXIT_USAGE;
}

static int profile_check_verb(Cli *cli) {
        _cleanup_record_ json_t *list = json_array(), *record = NULL;
        int worst = EXIT_HOLDS, r;

        for (int i = 1; i < cli->n_arguments; i++) {
                r = check_file(cli->arguments[i], list);
                if (r < 0)
                        return r;
                if (r > worst)
                        worst = r;
        }
        if (!cli_has(cli, OPTION_JSON))
                return worst;
        record = json_pack("{s:i, s:O}", "version", 1, "files", list);
        if (!record)
                return -ENOMEM;
        r = record_print_json(record, false);
        return r < 0 ? r : worst;
}

static const struct {
        const char *word;
        int min_arguments, max_arguments; /* behind the word */
        const char *usage;
        int (*run)(Cli *cli);
} words[] = {
        { "list", 0, 0, "list", profile_list_verb },
        { "show", 1, 1, "show NAME", profile_show_verb },
        { "check", 1, -1, "check FILE...", profile_check_verb },
};

int verb_profile(Cli *cli) {
        const char *known[ARRAY_SIZE(words)], *word = cli->arguments[0];
        _cleanup_free_ char *nearest = NULL;
        int n = cli->n_arguments - 1;

        for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
                known[i] = words[i].word;
                if (!streq(word, words[i].word))
                        continue;
                if (n >= words[i].min_arguments &&
                        (words[i].max_arguments < 0 || n <= words[i].max_arguments))
                        return words[i].run(cli);
                cli_error("usage is rtisoctl profile %s", words[i].usage);
                return EXIT_USAGE;
        }
        nearest = cli_nearest(word, known, ARRAY_SIZE(known));
        cli_error("profile does not know \"%s\"%s; it knows list, show NAME and check FILE...", word,
                nearest ?: "");
        return EXIT_USAGE;
}
