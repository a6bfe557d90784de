/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Message IDs, for `journalctl MESSAGE_ID=…`: they never change. */
#define LOG_ID_SWITCHED "3a61ee2b0d5c4e1f8f3c2c75be0d9a41"
#define LOG_ID_FAILED "6b0f2ad9c7e94f0aa1d7b85e43f6c210"
#define LOG_ID_INCOMPLETE "91c4d07e5a284b63b9d4e7720fa8b3c6"
#define LOG_ID_REFUSED "d2e87b1f40934ce2a5b60c9f13de7a58"
#define LOG_ID_STARTED "0f9c3e5d8b7a4262917d3af6c04be81d"
#define LOG_ID_MENDED "c85ab3f1d96e4b07a2e4107c58fd93b2"
#define LOG_ID_DRIFT "7e14d6c0b29f43a8b5c3f9027a6ed84f"
#define LOG_ID_PLACED "a4f7093bce1d4d5e86b2705c9d18e36a"
#define LOG_ID_LEASE "5d3b8e62f07c49a1b4f8d1c6ea9207b3"
