/* test_path.h - files of a test, in a folder of its own that goes with it. */
#ifndef PROFTRACE_TESTS_TEST_PATH_H
#define PROFTRACE_TESTS_TEST_PATH_H

/* A path in a folder of this test's own, the same at each call with the same name. */
const char *test_path(const char *name);

#endif
