import type { Library } from "../library.ts";

/** The C library of Linux: memory, file descriptors, errno. */
export const libc: Library = {
  name: "libc",
  interface: "LibC",
  headers: ["dlfcn.h", "errno.h", "fcntl.h", "gnu/libc-version.h", "sys/mman.h", "sys/uio.h", "unistd.h"],
  defines: { _GNU_SOURCE: "" },
  functions: [
    { name: "mmap", address: ["addr"] },
    { name: "munmap", address: ["addr"] },
    { name: "mprotect", address: ["addr"] },
    { name: "madvise", address: ["addr"] },
    "memfd_create",
    "ftruncate",
    { name: "fcntl", variadic: { arg: "int" } },
    "close",
    "process_vm_readv",
    "sysconf",
    "getpid",
    "__errno_location",
    { name: "dladdr", address: ["address"], optional: true }, // in libdl before glibc 2.34
    "gnu_get_libc_version",
  ],
  constants: [
    {
      type: "int",
      names: [
        "PROT_NONE",
        "PROT_READ",
        "PROT_WRITE",
        "MAP_SHARED",
        "MAP_PRIVATE",
        "MAP_ANONYMOUS",
        "MAP_NORESERVE",
        "MAP_FIXED",
        "MADV_DONTNEED",
        "F_DUPFD_CLOEXEC",
        "F_ADD_SEALS",
        "F_SEAL_SHRINK",
        "F_SEAL_GROW",
        "_SC_PAGESIZE",
      ],
    },
    { type: "unsigned int", names: ["MFD_CLOEXEC", "MFD_ALLOW_SEALING"] },
    { type: "uintptr_t", names: ["MAP_FAILED"] },
  ],
  errors: { type: "int", names: ["E*"], from: ["errno.h", "errno-base.h"] },
  structs: ["struct iovec", "Dl_info"],
};
