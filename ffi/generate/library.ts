/**
 * A C library as a person lists it: `lists/*.ts` hold one each.
 *
 * Names of constants may hold `*` (any run of characters). A leading `!` takes names out again. Every name has to
 * match something in the headers, so that a slip of the pen is noticed.
 */
export interface Library {
  /** The folder of `ffi/` that is written, e.g. `opencl`. */
  readonly name: string;
  /** The TypeScript interface of its functions, e.g. `OpenCL`. */
  readonly interface: string;
  /** The headers, as after `#include`, in angle brackets. */
  readonly headers: readonly string[];
  /** What is defined before them. */
  readonly defines: Readonly<Record<string, string>>;
  /** Whether no library exports its functions: whoever has them is asked for their addresses, by name. */
  readonly byPointer?: true;
  /** The functions, in the order in which they are written; a plain name where nothing more has to be said. */
  readonly functions: readonly (string | FunctionEntry)[];
  /** The constants. One that matches several groups belongs to the first; error codes belong to none. */
  readonly constants: readonly ConstantGroup[];
  /** The error codes, which get a table from code to name as well. A second name of a code has to be its alias. */
  readonly errors?: ConstantGroup;
  /** The structs, as C writes the type: `cl_buffer_region`, `struct iovec`. */
  readonly structs: readonly string[];
}

/** A function of which more than its name has to be said. */
export interface FunctionEntry {
  /** What C calls it. */
  readonly name: string;
  /** What TypeScript calls it; C's own name unless given. */
  readonly as?: string;
  /** Pointer parameters that are passed as an address (`u64`); any other pointer is a JavaScript buffer. */
  readonly address?: readonly string[];
  /**
   * A variadic function's arguments after the named ones: parameter name to C type, integers only. Linux on x86-64
   * and on aarch64 passes them as it passes named ones.
   */
  readonly variadic?: Readonly<Record<string, string>>;
  /** Whether it runs on another thread and returns a promise. */
  readonly nonblocking?: true;
  /** Whether an older library may lack it: it is null then. */
  readonly optional?: true;
}

/** Constants of one C type: its size decides between `number` (up to 32 bits) and `bigint` (64 bits). */
export interface ConstantGroup {
  /** The C type, e.g. `cl_mem_flags`. */
  readonly type: string;
  /** Their names; see {@linkcode Library}. */
  readonly names: readonly string[];
  /** Take only macros from files whose path ends so. */
  readonly from?: readonly string[];
  /** Take only macros that are written like this. */
  readonly written?: RegExp;
}
