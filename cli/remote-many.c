/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "remote-many.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "record.h"
#include "remote.h"

/* So many at once: more would only wait for this machine. */
#define AT_ONCE 32

typedef struct Host {
        const char *name;
        pid_t pid;
        int out, error; /* what it prints */
        int exit;
} Host;

/* Nobody can answer a question that one of many asks. */
static void child(const Host *host, const char *line) {
        int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

        (void) dup2(null, STDIN_FILENO);
        (void) dup2(host->out, STDOUT_FILENO);
        (void) dup2(host->error, STDERR_FILENO);
        (void) execlp("ssh", "ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "--", host->name, line,
                NULL);
        fprintf(stderr, "ssh cannot be started: %s\n", strerror(errno));
        _exit(EXIT_NOT_REACHED);
}

static int host_start(Host *host, const char *line) {
        host->out = memfd_create("out", MFD_CLOEXEC);
        host->error = memfd_create("error", MFD_CLOEXEC);
        if (host->out < 0 || host->error < 0)
                return -errno;
        host->pid = fork();
        if (host->pid < 0)
                return -errno;
        if (host->pid == 0)
                child(host, line);
        return 0;
}

static void host_wait(Host *host) {
        int status;

        if (host->pid <= 0)
                return;
        while (waitpid(host->pid, &status, 0) < 0 && errno == EINTR)
                ;
        host->exit = WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_NOT_REACHED;
}

static void host_done(Host *host) {
        if (host->out >= 0)
                (void) close(host->out);
        if (host->error >= 0)
                (void) close(host->error);
}

static char *read_back(int fd) {
        struct stat st;
        char *text;
        ssize_t n;

        if (fstat(fd, &st) < 0)
                return NULL;
        text = calloc(1, (size_t) st.st_size + 1);
        n = text ? pread(fd, text, (size_t) st.st_size, 0) : 0;
        if (n < 0)
                n = 0;
        if (text)
                text[n] = '\0';
        return text;
}

/* What it said first: in its answer, or where there is none, of why not. */
static char *first_line(const char *out, const char *error) {
        const char *text = *out ? out : error, *own = util_startswith(text, "rtisoctl: ");

        if (own)
                text = own;
        return strndup(text, strcspn(text, "\r\n"));
}

static int add_row(const Host *host, bool json, json_t *rows) {
        _cleanup_free_ char *out = read_back(host->out), *error = read_back(host->error), *line = NULL;
        json_t *record, *row;

        line = out && error ? first_line(out, error) : NULL;
        if (!line)
                return -ENOMEM;
        record = json ? json_loads(out, 0, NULL) : NULL;
        row = json ? json_pack("{s:o, s:i, s:o, s:o}", "host", record_text(host->name), "exit", host->exit,
                             "record", record ?: json_null(), "error", record_text(error))
                   : json_pack("{s:o, s:i, s:o}", "host", record_text(host->name), "exit", host->exit,
                             "says", record_text(line));
        return json_array_append_new(rows, row) < 0 ? -ENOMEM : 0;
}

static int print_rows(const Cli *cli, const json_t *rows) {
        static const Column columns[] = {
                { "HOST", "host" },
                { "EXIT", "exit", COLUMN_RIGHT },
                { "SAYS", "says" },
        };
        const json_t *row;
        size_t i;
        int r = 0;

        if (!cli_has(cli, OPTION_JSON))
                return record_print_table(rows, columns, ARRAY_SIZE(columns), cli->colour);
        json_array_foreach(rows, i, row) r = r ?: record_print_json(row, true);
        return r;
}

static int run_all(const Cli *cli, Host *hosts, size_t n, const char *line) {
        _cleanup_record_ json_t *rows = json_array();
        int worst = EXIT_HOLDS, r = rows ? 0 : -ENOMEM;

        for (size_t i = 0; r == 0 && i < n; i++) {
                if (i >= AT_ONCE)
                        host_wait(&hosts[i - AT_ONCE]);
                r = host_start(&hosts[i], line);
        }
        for (size_t i = n > AT_ONCE ? n - AT_ONCE : 0; i < n; i++)
                host_wait(&hosts[i]);
        for (size_t i = 0; r == 0 && i < n; i++) {
                worst = hosts[i].exit > worst ? hosts[i].exit : worst;
                r = add_row(&hosts[i], cli_has(cli, OPTION_JSON), rows);
        }
        r = r ?: print_rows(cli, rows);
        return r ?: worst;
}

int remote_run_many(const Cli *cli) {
        size_t n = util_strv_length(cli->hosts);
        _cleanup_free_ Host *hosts = calloc(n, sizeof(Host));
        _cleanup_free_ char *line = NULL;
        int r = hosts ? remote_command(cli, &line) : -ENOMEM;

        if (cli->verb->failed || cli_has(cli, OPTION_WATCH)) {
                cli_error("%s%s goes on, and says more than a line: give one -H", cli->verb->name,
                        cli_has(cli, OPTION_WATCH) ? " --watch" : "");
                return cli->verb->failed ?: EXIT_USAGE;
        }
        for (size_t i = 0; r == 0 && i < n; i++) {
                hosts[i] = (Host){ .name = cli->hosts[i], .out = -1, .error = -1, .exit = EXIT_NOT_REACHED };
                if (!remote_is_host(cli->hosts[i]))
                        return EXIT_USAGE;
        }
        r = r ?: run_all(cli, hosts, n, line);
        for (size_t i = 0; hosts && i < n; i++)
                host_done(&hosts[i]);
        if (r < 0)
                cli_error("the hosts cannot be asked: %s", strerror(-r));
        return r < 0 ? EXIT_REFUSED : r;
}
