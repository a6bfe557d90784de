/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "profile.h"
#include "tree.h"

/* What loading a profile gives, as one text: the merged profile, the errors one to a line, or the errno's name. */
char *profiles_load(Tree *tree, const char *name);
/* The errors one to a line. */
char *profiles_errors(const ProfileErrors *errors);
/* The text as the profile x in /etc, loaded. */
char *profiles_load_text(const char *text);
