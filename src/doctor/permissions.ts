import type { ApiExaminer } from "./api.ts";
import type { PermissionReport } from "./report.ts";

export function permissionsOf(apis: readonly ApiExaminer[]): PermissionReport[] {
  const variables = [...new Set(apis.flatMap((api) => api.variables))];
  const files = [...new Set(apis.flatMap((api) => api.files))];
  const granted = (descriptors: readonly Deno.PermissionDescriptor[]) =>
    descriptors.every((descriptor) => Deno.permissions.querySync(descriptor).state === "granted");
  return [
    {
      flag: "--allow-ffi",
      granted: granted([{ name: "ffi" }]),
      shows: "libraries, devices and the graph",
    },
    {
      flag: "--allow-env",
      granted: granted(variables.map((variable) => ({ name: "env", variable }))),
      shows: `the variables that change what is found: ${variables.join(", ")}`,
    },
    {
      flag: `--allow-read=${files.filter((file) => !needsAll(file)).join(",")}`,
      granted: granted(files.filter((file) => !needsAll(file)).map((path) => ({ name: "read", path }))),
      shows: "drivers that are installed and do not load",
    },
    {
      flag: "--allow-run=dpkg-query",
      granted: granted([{ name: "run", command: "dpkg-query" }]),
      shows: "the package of each library",
    },
    {
      flag: "--allow-sys=osRelease",
      granted: granted([{ name: "sys", kind: "osRelease" }]),
      shows: "the kernel's version",
    },
    {
      flag: "--allow-all",
      granted: granted(ALL.map((name) => ({ name }))),
      shows: `GPUs that you may not open (${files.filter(needsAll).join(", ")})`,
    },
  ];
}

/** Deno reads device files only if everything is allowed. */
const ALL = ["ffi", "env", "read", "write", "net", "run", "sys"] as const;

function needsAll(path: string): boolean {
  return path.startsWith("/dev/");
}
