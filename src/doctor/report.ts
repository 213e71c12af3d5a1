import { type LibraryAttempt, reasonOf, type Refusal } from "../core/errors.ts";
import type { GuardState } from "../guard/guard.ts";
import type { Step, Transfer } from "../core/graph/route.ts";

/** What this machine can share, and why not more, for `JSON.stringify`. Fields that do not apply are left out. */
export interface Report {
  /** The versions that made it. */
  readonly versions: Versions;
  /** The permissions, and what each shows. */
  readonly permissions: readonly PermissionReport[];
  /** Each API that samepage knows, in the order of its table. */
  readonly apis: readonly ApiReport[];
  /** Each kind of memory of each device. */
  readonly targets: readonly TargetReport[];
  /** Each mapper between each two targets that it could join. */
  readonly edges: readonly EdgeReport[];
  /** The best route from each target to each other one. */
  readonly routes: readonly RouteReport[];
  /** Findings outside of any API. */
  readonly findings: readonly Finding[];
}

/** The versions that made a report. */
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

/** A permission. */
export interface PermissionReport {
  /** The flag that grants it. */
  readonly flag: string;
  /** True if it was granted. */
  readonly granted: boolean;
  /** What the doctor sees with it. */
  readonly shows: string;
}

/** An obstacle to sharing memory. */
export interface Finding {
  /** The obstacle. */
  readonly what: string;
  /** The package, group, flag, variable or driver that removes it. */
  readonly remedy?: string;
}

/** One API on this machine. */
export interface ApiReport {
  /** The API's name: `"host"`, `"opencl"`, `"opencv"`. */
  readonly api: string;
  /** Its library. */
  readonly library: LibraryReport;
  /** Its other libraries, each of which may be missing. */
  readonly modules: readonly ModuleReport[];
  /** The environment variables that influence it, if they are set and may be read. */
  readonly variables: Readonly<Record<string, string>>;
  /** The drivers behind the library. */
  readonly drivers: readonly DriverReport[];
  /** Their devices. */
  readonly devices: readonly DeviceReport[];
  /** The obstacles to sharing more. */
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
  /** The library's own version. */
  readonly version?: string;
  /** The variable that names another library: `"SAMEPAGE_LIB_OPENCL"`. */
  readonly variable: string;
  /** The value of that variable, if it is set and may be read. */
  readonly override?: string;
  /** Each name and path that did not open, with the loader's message. */
  readonly attempts: readonly LibraryAttempt[];
  /** The library's facts about itself. */
  readonly facts: readonly Fact[];
  /** For an open C++ library: whether its exceptions are caught, and if not, why. */
  readonly guard?: GuardState;
}

/** One library of an API. */
export interface ModuleReport extends LibraryReport {
  /** Its name in the API: `"imgproc"`. */
  readonly name: string;
}

/** One fact, under its API's name. It has either a value or a problem. */
export interface Fact {
  /** The API's own name: `"CL_DEVICE_GLOBAL_MEM_SIZE"`. */
  readonly name: string;
  /** The value; bit fields are numbers. */
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
  /** Its facts about itself. */
  readonly facts: readonly Fact[];
  /** The names of its devices in this report. */
  readonly devices: readonly string[];
}

/** A device, with the facts that matter for sharing. */
export interface DeviceReport {
  /** Its name in this report: `"opencl:0"`. */
  readonly id: string;
  /** What it calls itself. */
  readonly name: string;
  /** Its facts about itself. */
  readonly facts: readonly Fact[];
  /** Lines about it for people, the most important first. */
  readonly traits: readonly Trait[];
  /** The results of proofs. */
  readonly aliasing: readonly AliasReport[];
  /** The obstacles to sharing more. */
  readonly findings: readonly Finding[];
}

/** A line about a device. */
export interface Trait {
  /** Its subject: `"memory"`. */
  readonly label: string;
  /** Its text. */
  readonly text: string;
}

/** The result of a proof for one class of memory. */
export interface AliasReport {
  /** True if the device uses this memory in place. */
  readonly aliases: boolean;
  /** The observation, and the class. */
  readonly evidence: string;
}

/** One kind of memory of one device: a node of the graph. */
export interface TargetReport {
  /** Its name in this report. */
  readonly id: string;
  /** The kind, as in the names of edges. */
  readonly kind: string;
  /** The API. */
  readonly api: string;
  /** The name of its device in this report. */
  readonly device: string;
  /** Why no sample of this kind could be made to try the edges. */
  readonly problem?: string;
}

/** One mapper between two targets. */
export interface EdgeReport {
  /** The mapper: `"host→opencl"`. */
  readonly edge: string;
  /** The source's name in this report; left out if this machine has no such memory. */
  readonly from?: string;
  /** The target's. */
  readonly to?: string;
  /** True if it can be taken. */
  readonly open: boolean;
  /** How the bytes cross, if it is open. */
  readonly transfer?: Transfer;
  /** The evidence for that. */
  readonly evidence?: string;
  /** Why it is closed. */
  readonly reason?: string;
  /** What would open it. */
  readonly remedy?: string;
}

/** The best route from one target to another. */
export interface RouteReport {
  /** The source's name in this report. */
  readonly from: string;
  /** The target's. */
  readonly to: string;
  /** True if there is one. */
  readonly open: boolean;
  /** The worst transfer of its steps, if it is open. */
  readonly transfer?: Transfer;
  /** The steps; empty if it is closed. */
  readonly steps: readonly Step[];
  /** The edges that refused. */
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
