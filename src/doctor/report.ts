import { type LibraryAttempt, reasonOf, type Refusal } from "../core/errors.ts";
import type { GuardState } from "../guard/guard.ts";
import type { Step, Transfer } from "../core/graph/route.ts";

/**
 * What this machine can share with what, and why not more. Plain data: it survives `JSON.stringify`. What does not
 * apply, or could not be found out, is left out.
 */
export interface Report {
  /** What it was found out with. */
  readonly versions: Versions;
  /** What was permitted, and what more could be seen. */
  readonly permissions: readonly PermissionReport[];
  /** Each API that samepage knows, in the order of its table. */
  readonly apis: readonly ApiReport[];
  /** Each kind of memory of each device. */
  readonly targets: readonly TargetReport[];
  /** Each mapper between each two targets that it could join. */
  readonly edges: readonly EdgeReport[];
  /** From each target to each other one, by however many edges. */
  readonly routes: readonly RouteReport[];
  /** What went wrong outside of any API. */
  readonly findings: readonly Finding[];
}

/** What a report was made with. */
export interface Versions {
  /** samepage's own version. */
  readonly samepage: string;
  /** Deno's. */
  readonly deno: string;
  /** The system and its processor: `"linux x86_64"`. */
  readonly system: string;
  /** The kernel's release, with --allow-sys. */
  readonly kernel?: string;
}

/** A permission, and what the doctor sees with it. */
export interface PermissionReport {
  /** The flag that grants it. */
  readonly flag: string;
  /** True where it was granted. */
  readonly granted: boolean;
  /** What is seen with it. */
  readonly shows: string;
}

/** Something that keeps memory from being shared. */
export interface Finding {
  /** What was found. */
  readonly what: string;
  /** The package, group, flag, variable or driver that mends it. */
  readonly remedy?: string;
}

/** What there is of one API. */
export interface ApiReport {
  /** The API's name: `"host"`, `"opencl"`, `"opencv"`. */
  readonly api: string;
  /** Its library. */
  readonly library: LibraryReport;
  /** Others that belong to it, each of which may be missing. */
  readonly modules: readonly ModuleReport[];
  /** The environment variables that are set, may be read, and change what is found. */
  readonly variables: Readonly<Record<string, string>>;
  /** The drivers behind the library. */
  readonly drivers: readonly DriverReport[];
  /** Their devices. */
  readonly devices: readonly DeviceReport[];
  /** What keeps it from more. */
  readonly findings: readonly Finding[];
}

/** A native library: what was tried, and what opened. */
export interface LibraryReport {
  /** The name or path that the loader was given when it opened. */
  readonly opened?: string;
  /** The file that it was loaded from. */
  readonly file?: string;
  /** The package that this file belongs to, with --allow-run=dpkg-query. */
  readonly package?: string;
  /** What the library says of its own version. */
  readonly version?: string;
  /** The variable that names another one: `"SAMEPAGE_LIB_OPENCL"`. */
  readonly variable: string;
  /** What that variable says, where it is set and may be read. */
  readonly override?: string;
  /** Each name and path that did not open, with the loader's words. */
  readonly attempts: readonly LibraryAttempt[];
  /** What the library tells of itself. */
  readonly facts: readonly Fact[];
  /** Of a C++ library that is open: is what it throws caught, and if not, why? */
  readonly guard?: GuardState;
}

/** One of the libraries that an API is made of. */
export interface ModuleReport extends LibraryReport {
  /** Its name there: `"imgproc"`. */
  readonly name: string;
}

/** One value, under the name that its API gives it. Either a value or a problem is there. */
export interface Fact {
  /** The API's own name: `"CL_DEVICE_GLOBAL_MEM_SIZE"`. */
  readonly name: string;
  /** What was answered; bit fields are numbers. */
  readonly value?: string | number | boolean;
  /** Why it could not be read. */
  readonly problem?: string;
}

/** A driver that an API's loader found. */
export interface DriverReport {
  /** What it calls itself: `"Portable Computing Language"`. */
  readonly name: string;
  /** The file that it was loaded from. */
  readonly file?: string;
  /** The package that this file belongs to, with --allow-run=dpkg-query. */
  readonly package?: string;
  /** What it tells of itself. */
  readonly facts: readonly Fact[];
  /** The names, in this report, of its devices. */
  readonly devices: readonly string[];
}

/** A device, and what of it matters for sharing. */
export interface DeviceReport {
  /** Its name in this report: `"opencl:0"`. */
  readonly id: string;
  /** What it calls itself. */
  readonly name: string;
  /** What it tells of itself. */
  readonly facts: readonly Fact[];
  /** The same for people, the most important first. */
  readonly traits: readonly Trait[];
  /** What proofs have shown of it. */
  readonly aliasing: readonly AliasReport[];
  /** What keeps it from more. */
  readonly findings: readonly Finding[];
}

/** A line about a device. */
export interface Trait {
  /** What it is about: `"memory"`. */
  readonly label: string;
  /** What there is to say. */
  readonly text: string;
}

/** What a proof has shown of one class of memory. */
export interface AliasReport {
  /** True where the device uses this memory in place. */
  readonly aliases: boolean;
  /** What was seen, and the class. */
  readonly evidence: string;
}

/** One kind of memory of one device: a node of the graph. */
export interface TargetReport {
  /** Its name in this report. */
  readonly id: string;
  /** The kind, as the names of edges have it. */
  readonly kind: string;
  /** The API. */
  readonly api: string;
  /** The name, in this report, of its device. */
  readonly device: string;
  /** Why no memory of this kind could be made to try the edges with. */
  readonly problem?: string;
}

/** One mapper between two targets. */
export interface EdgeReport {
  /** The mapper: `"host→opencl"`. */
  readonly edge: string;
  /** The source's name in this report; absent where this machine has no such memory. */
  readonly from?: string;
  /** The target's. */
  readonly to?: string;
  /** True where it can be taken. */
  readonly open: boolean;
  /** What it does with the bytes, where it is open. */
  readonly transfer?: Transfer;
  /** How that is known. */
  readonly evidence?: string;
  /** Why it is closed. */
  readonly reason?: string;
  /** What would open it. */
  readonly remedy?: string;
}

/** The best way from one target to another. */
export interface RouteReport {
  /** The source's name in this report. */
  readonly from: string;
  /** The target's. */
  readonly to: string;
  /** True where there is one. */
  readonly open: boolean;
  /** The worst that a step does with the bytes, where it is open. */
  readonly transfer?: Transfer;
  /** The steps; none where it is closed. */
  readonly steps: readonly Step[];
  /** Who was asked and refused. */
  readonly refused: readonly Refusal[];
}

/** An error as a finding. Its hint is the remedy. */
export function findingOf(error: unknown): Finding {
  const { reason, ...remedy } = reasonOf(error);
  return { what: reason, ...remedy };
}

/** Runs an action. If it fails, the error becomes a finding and the result is undefined. */
export function attempt<T>(findings: Finding[], action: () => T): T | undefined {
  try {
    return action();
  } catch (error) {
    findings.push(findingOf(error));
    return undefined;
  }
}
