/**
 * A C or C++ library as a person lists it: `lists/*.ts` hold one each.
 *
 * Names of constants may hold `*` (any run of characters). A leading `!` takes names out again. Every name has to
 * match something in the headers, so that a slip of the pen is noticed. C++'s names are qualified: `cv::COLOR_*`.
 */
export interface Library {
  /** The folder of `ffi/` that is written, e.g. `opencl`. */
  readonly name: string;
  /** The TypeScript interface of its functions, e.g. `OpenCL`. */
  readonly interface: string;
  /** The headers, as after `#include`, in angle brackets. */
  readonly headers: readonly string[];
  /** Where they are, besides the folders of the C library; the first that has a header is taken. */
  readonly folders?: readonly string[];
  /** True where the headers need not be here: then the list is left out. */
  readonly mayLack?: boolean;
  /** What is defined before them. */
  readonly defines: Readonly<Record<string, string>>;
  /** For a C++ library, what has to be said of it besides. */
  readonly cxx?: Cxx;
  /** Whether no library exports its functions: a driver or a loader returns their addresses, by name. */
  readonly byPointer?: true;
  /**
   * The struct of pointers to its functions, where a library hands those out as a table: `OrtApi`. The list is `byPointer`
   * then, and names those fields among its structs which have the addresses.
   */
  readonly table?: string;
  /** The functions, in the order in which they are written; a plain name where nothing more has to be said. */
  readonly functions: readonly (string | FunctionEntry)[];
  /** The constants. One that matches several groups belongs to the first; error codes belong to none. */
  readonly constants: readonly ConstantGroup[];
  /** The error codes, which get a table from code to name as well. A second name of a code has to be its alias. */
  readonly errors?: ConstantGroup;
  /**
   * The structs, as C writes the type: `cl_buffer_region`, `struct iovec`. Of C++'s classes the fields are listed, and of
   * those structs of C that hold others, or arrays.
   */
  readonly structs: readonly (string | ClassEntry)[];
  /**
   * True where only the layouts of structs are written, and nothing that reads or writes them: for a library whose structs
   * lie differently in each version. `src/core/native/struct_type.ts` reads them by the layout of the one that is open.
   */
  readonly layoutsOnly?: true;
  /**
   * The C structs that functions take by value, as they write the type: `struct cudaExtent`. Each crosses as Deno's
   * `{ struct: … }`, out of a JavaScript buffer. They hold numbers, arrays of numbers, and pointers.
   */
  readonly byValue?: readonly string[];
  /**
   * Those that hold structs or unions themselves, with their 64-bit words, more than two: C passes such a struct in memory
   * whatever it holds, so it crosses as its words.
   */
  readonly byWords?: Readonly<Record<string, number>>;
}

/** What has to be said of a C++ library. */
export interface Cxx {
  /** The outermost namespace of its functions and constants, which their TypeScript names leave out, e.g. `cv`. */
  readonly namespace: string;
  /** The classes that are passed by value in one register, by their resolved name: `cv::Size_<int>` is two ints. */
  readonly inRegister: readonly string[];
}

/** A struct or a C++ class, of which the fields that are wanted are said: in C++ they may be private. */
export interface ClassEntry {
  /** The type, e.g. `cv::Mat` or `struct cudaDeviceProp`. */
  readonly type: string;
  /** What TypeScript calls it; its name without namespaces, or without `struct`, unless given. */
  readonly as?: string;
  /** The fields, as `offsetof` takes them; with their TypeScript name first where they are not a plain name. */
  readonly fields: readonly (string | readonly [name: string, designator: string])[];
}

/** A function of which more than its name has to be said. */
export interface FunctionEntry {
  /** What C or C++ calls it: `clFinish`, `cv::Mat::create`, `cv::Mat::Mat`, `cv::Mat::~Mat`. */
  readonly name: string;
  /** What TypeScript calls it; unless given, C's own name, or `Mat_create` for `cv::Mat::create`. */
  readonly as?: string;
  /** Of several C++ functions of one name, which: the types of its parameters. A constructor says them in any case. */
  readonly parameters?: readonly string[];
  /** C: pointer parameters that are passed as an address (`u64`); any other pointer is a JavaScript buffer. */
  readonly address?: readonly string[];
  /** C++: pointers and references that are passed as a JavaScript buffer; any other is an address (`u64`). */
  readonly buffer?: readonly string[];
  /**
   * A C++ function that returns an object in memory of the caller, whose address becomes its first parameter,
   * `result`. So on x86-64 only: on aarch64 that address travels in a register that is not a parameter's.
   */
  readonly sret?: true;
  /**
   * A variadic function's arguments after the named ones: parameter name to C type, integers and pointers only.
   * Linux on x86-64 and on aarch64 passes them as it passes named ones.
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
