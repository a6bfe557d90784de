/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <jansson.h>

#include "plan.h"

/* Steps and switches as JSON.  Texts come from the kernel and need not be UTF-8: one that is not is
 * written as `{"hex":"…"}`, so that it comes back byte for byte. */

#define _cleanup_json_ _cleanup_(json_decrefp)

/* What a text says that jansson has read twice, after errno was set to 0.  Where jansson has no memory for a character
 * it goes on without it, and says nothing: one reading is not enough to believe.  Takes both; *ret is NULL where the
 * text is no JSON.  -ENOMEM. */
int json_take(json_t *first, json_t *second, json_t **ret);

/* Sets one text of an object; NULL leaves the key out. -ENOMEM. */
int json_put_text(json_t *object, const char *key, const char *text);
/* NULL where the key is not there.  -EPROTO where it is no text. */
int json_get_text(const json_t *object, const char *key, char **ret);
/* The same for a text that must be there. */
int json_need_text(const json_t *object, const char *key, char **ret);
int json_get_u64(const json_t *object, const char *key, uint64_t *ret);

json_t *switch_to_json(const Switch *sw);
int switch_from_json(const json_t *object, Switch **ret);
