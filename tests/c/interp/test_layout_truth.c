/*
 * The tables of layout.c against the structs of the interpreter that this is compiled for: its
 * internal headers say where each field is. Compiled a second time as for a build without the GIL.
 */
#define Py_BUILD_CORE 1
#include <Python.h>

#include "internal/pycore_frame.h"
#include "internal/pycore_interp.h"
#include "internal/pycore_runtime.h"
#if PY_VERSION_HEX >= 0x030e0000
#include "internal/pycore_debug_offsets.h"
#include "internal/pycore_interpframe.h"
#include "internal/pycore_interpframe_structs.h"
#endif

#define read_u32 our_read_u32 /* CPython's has the same name */
#include "interp/layout.h"
#include "interp/text.h"

#include "check.h"

#ifdef Py_GIL_DISABLED
#define IS_FREE_THREADED true
#else
#define IS_FREE_THREADED false
#endif

#define CHECK_FIELD(field_, struct_, member_) CHECK_EQ(layout.field_, offsetof(struct_, member_))

static struct interp_layout layout;

static void find_layout(void)
{
    struct interp_binding binding = {
        .hexversion = PY_VERSION_HEX,
        .free_threaded = IS_FREE_THREADED,
    };
#if PY_VERSION_HEX >= 0x030e0000
    static const _Py_DebugOffsets published = _Py_DebugOffsets_INIT("xdebugpy");
    binding.runtime = &published;
#elif PY_VERSION_HEX >= 0x030d0000
    /* Its initialiser is part of that of the whole runtime, which needs all of CPython. */
    static const _Py_DebugOffsets published = {
        .cookie = "xdebugpy",
        .version = PY_VERSION_HEX,
        .interpreter_state.id = offsetof(PyInterpreterState, id),
        .thread_state.interp = offsetof(PyThreadState, interp),
        .thread_state.current_frame = offsetof(PyThreadState, current_frame),
        .interpreter_frame.previous = offsetof(_PyInterpreterFrame, previous),
        .interpreter_frame.executable = offsetof(_PyInterpreterFrame, f_executable),
        .interpreter_frame.instr_ptr = offsetof(_PyInterpreterFrame, instr_ptr),
        .interpreter_frame.owner = offsetof(_PyInterpreterFrame, owner),
        .code_object.filename = offsetof(PyCodeObject, co_filename),
        .code_object.name = offsetof(PyCodeObject, co_name),
        .code_object.qualname = offsetof(PyCodeObject, co_qualname),
        .code_object.linetable = offsetof(PyCodeObject, co_linetable),
        .code_object.firstlineno = offsetof(PyCodeObject, co_firstlineno),
        .code_object.co_code_adaptive = offsetof(PyCodeObject, co_code_adaptive),
        .bytes_object.ob_size = offsetof(PyBytesObject, ob_base.ob_size),
        .bytes_object.ob_sval = offsetof(PyBytesObject, ob_sval),
        .unicode_object.state = offsetof(PyUnicodeObject, _base._base.state),
        .unicode_object.length = offsetof(PyUnicodeObject, _base._base.length),
        .unicode_object.asciiobject_size = sizeof(PyASCIIObject),
    };
    binding.runtime = &published;
#endif
    CHECK(layout_find(&layout, &binding) == NULL);
}

static void states_and_frames_are_where_the_headers_say(void)
{
    CHECK_FIELD(state_interp, PyThreadState, interp);
    CHECK_FIELD(interp_id, PyInterpreterState, id);
    CHECK_FIELD(frame_previous, struct _PyInterpreterFrame, previous);
    CHECK_FIELD(frame_owner, struct _PyInterpreterFrame, owner);
    CHECK_EQ(layout.owner_generator, FRAME_OWNED_BY_GENERATOR);
#if PY_VERSION_HEX >= 0x030d0000
    CHECK_FIELD(state_frame, PyThreadState, current_frame);
    CHECK_FIELD(frame_code, struct _PyInterpreterFrame, f_executable);
    CHECK_FIELD(frame_ip, struct _PyInterpreterFrame, instr_ptr);
#else
    CHECK_FIELD(state_frame, PyThreadState, cframe);
    CHECK_EQ(offsetof(_PyCFrame, current_frame), 0);
    CHECK_FIELD(frame_code, struct _PyInterpreterFrame, f_code);
    CHECK_FIELD(frame_ip, struct _PyInterpreterFrame, prev_instr);
#endif
#if PY_VERSION_HEX >= 0x030e0000
    CHECK_FIELD(generation, PyInterpreterState, _code_object_generation);
    CHECK_EQ(layout.owner_shim, FRAME_OWNED_BY_INTERPRETER);
#else
    CHECK_EQ(layout.generation, 0);
    CHECK_EQ(layout.owner_shim, FRAME_OWNED_BY_CSTACK);
#endif
#if PY_VERSION_HEX >= 0x030f0000
    CHECK_FIELD(state_anchor, PyThreadState, last_profiled_frame);
    CHECK_FIELD(state_anchor_seq, PyThreadState, last_profiled_frame_seq);
#else
    CHECK_EQ(layout.state_anchor | layout.state_anchor_seq, 0);
#endif
#if PY_VERSION_HEX >= 0x030e0000 && defined(Py_GIL_DISABLED)
    CHECK_FIELD(frame_tlbc, struct _PyInterpreterFrame, tlbc_index);
    CHECK_FIELD(code_tlbc, PyCodeObject, co_tlbc);
    CHECK_FIELD(tlbc_generation, PyInterpreterState, tlbc_indices.tlbc_generation);
    CHECK_EQ(offsetof(_PyCodeArray, entries), sizeof(uintptr_t));
#else
    CHECK_EQ(layout.frame_tlbc | layout.code_tlbc | layout.tlbc_generation, 0);
#endif
}

static void code_is_where_the_headers_say(void)
{
    CHECK_FIELD(code_flags, PyCodeObject, co_flags);
    CHECK_FIELD(code_first_line, PyCodeObject, co_firstlineno);
    CHECK_FIELD(code_file, PyCodeObject, co_filename);
    CHECK_FIELD(code_name, PyCodeObject, co_name);
    CHECK_FIELD(code_qualname, PyCodeObject, co_qualname);
    CHECK_FIELD(code_linetable, PyCodeObject, co_linetable);
    CHECK_FIELD(code_first_traceable, PyCodeObject, _co_firsttraceable);
    CHECK_FIELD(code_units, PyCodeObject, co_code_adaptive);
}

static void texts_and_bytes_are_where_the_headers_say(void)
{
    PyUnicodeObject latin = {0};
    char out[8];
    CHECK_FIELD(text_length, PyASCIIObject, length);
    CHECK_FIELD(text_state, PyASCIIObject, state);
    CHECK_EQ(layout.text_ascii, sizeof(PyASCIIObject));
    CHECK_EQ(layout.text_compact, sizeof(PyCompactUnicodeObject));
    CHECK_FIELD(bytes_start, PyBytesObject, ob_sval);
    CHECK_FIELD(bytes_length, PyVarObject, ob_size);
    /* The bits of the state, as the compiler puts them: a text of a subclass of str. */
    latin._base._base.length = 2;
    latin._base._base.state.interned = 1;
    latin._base._base.state.kind = PyUnicode_1BYTE_KIND;
    latin.data.latin1 = (Py_UCS1 *)"\xe9x";
    CHECK_EQ(text_copy_utf8(&layout, (uintptr_t)&latin, out, sizeof out), 3);
    CHECK(memcmp(out, "\xc3\xa9x", 3) == 0);
    latin._base._base.state.ascii = 1;
    latin.data.latin1 = (Py_UCS1 *)"ab";
    CHECK_EQ(text_copy_utf8(&layout, (uintptr_t)&latin, out, sizeof out), 2);
}

int main(void)
{
    find_layout();
    states_and_frames_are_where_the_headers_say();
    code_is_where_the_headers_say();
    texts_and_bytes_are_where_the_headers_say();
    return 0;
}
