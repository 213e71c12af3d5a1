// Installs through apt what the demo, the tests or the bench need: `deno task setup [demo|test|bench]`, `test` when left
// out.
//
// It asks dpkg what is missing, says what it is about to install, and never removes a package. Where it can not
// install (no root, no apt, no network) it says so and exits 0: the demo then runs on the host, and the tests count
// what they skip. Only in CI is that an error, for there a machine without OpenCL must not look like a green run.

const NEEDS = { demo: "the demo needs", test: "the tests need", bench: "the bench needs" } as const;

type For = keyof typeof NEEDS;

interface Package {
  readonly name: string;
  readonly why: string;
  readonly for: readonly For[];
  /** A virtual package that does as well: another vendor's package that provides it is left in place. */
  readonly or?: string;
}

const PACKAGES: readonly Package[] = [
  {
    name: "ocl-icd-libopencl1",
    or: "libopencl1",
    for: ["demo", "test", "bench"],
    why: "the OpenCL loader, libOpenCL.so.1",
  },
  { name: "pocl-opencl-icd", for: ["demo", "test", "bench"], why: "PoCL: OpenCL on the CPU" },
  { name: "mesa-opencl-icd", for: ["test"], why: "rusticl: a second OpenCL, to test across platforms" },
  { name: "clinfo", for: ["test"], why: "lists the OpenCL platforms when one is missed" },
  { name: "opencl-headers", for: ["test", "bench"], why: "the C headers that ffi/ is generated from" },
  { name: "ocl-icd-opencl-dev", for: ["test", "bench"], why: "libOpenCL.so to link the C programs of the tests" },
  { name: "gcc", for: ["test", "bench"], why: "cc: builds the C programs of the tests" },
  { name: "g++", for: ["test", "bench"], why: "builds the C++ programs of the tests, with libstdc++'s headers" },
  { name: "libc6-dev", for: ["test", "bench"], why: "libc's headers" },
  { name: "clang", for: ["test"], why: "reads the headers for ffi/, for x86-64 and for aarch64" },
  { name: "libc6-dev-arm64-cross", for: ["test"], why: "libc's headers for aarch64" },
  { name: "libopencv-core406", for: ["test", "bench"], why: "OpenCV: Mat and UMat" },
  { name: "libopencv-imgproc406", for: ["test", "bench"], why: "OpenCV's image processing" },
  { name: "libopencv-imgcodecs406", for: ["test", "bench"], why: "OpenCV's image files" },
  { name: "libopencv-core-dev", for: ["test", "bench"], why: "OpenCV's C++ headers that ffi/ is generated from" },
  { name: "libopencv-imgproc-dev", for: ["test", "bench"], why: "those of its image processing" },
  { name: "libopencv-imgcodecs-dev", for: ["test", "bench"], why: "those of its image files" },
  { name: "strace", for: ["test"], why: "shows that importing opens no library" },
  { name: "python3-pyopencl", for: ["bench"], why: "a peer: OpenCL from Python" },
  { name: "python3-numpy", for: ["bench"], why: "the arrays of that peer" },
  { name: "mesa-vulkan-drivers", for: ["bench"], why: "a peer: Deno's WebGPU, on the CPU (lavapipe)" },
  { name: "libdrm-dev", for: ["test"], why: "drm_fourcc.h: the codes of the pixel formats" },
];

/** Runs a command with its output captured; a command that does not exist is `undefined`. */
async function capture(command: string, args: string[]): Promise<{ success: boolean; text: string } | undefined> {
  try {
    const env = { DEBIAN_FRONTEND: "noninteractive", LC_ALL: "C" };
    const { success, stdout, stderr } = await new Deno.Command(command, { args, env, stdin: "null" }).output();
    const decoder = new TextDecoder();
    return { success, text: decoder.decode(stdout) + decoder.decode(stderr) };
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** The names of all installed packages and of what they provide; `undefined` where there is no dpkg. */
async function installed(): Promise<Set<string> | undefined> {
  const list = await capture("dpkg-query", ["-W", "-f", "${db:Status-Abbrev}|${Package}, ${Provides}\n"]);
  if (!list) return undefined;
  const lines = list.text.split("\n").filter((line) => line.startsWith("ii"));
  return new Set(
    lines.flatMap((line) => line.slice(line.indexOf("|") + 1).split(", ").map((name) => name.split(" ")[0])),
  );
}

async function missing(purpose: For): Promise<Package[] | undefined> {
  const present = await installed();
  return present &&
    PACKAGES.filter((wanted) =>
      wanted.for.includes(purpose) && !present.has(wanted.name) && !(wanted.or && present.has(wanted.or))
    );
}

/** Says why something stays missing, and ends: with 0, but for CI. */
function giveUp(reason: string): never {
  const inCI = Boolean(Deno.env.get("CI"));
  console.error(`setup: ${reason}`);
  console.error(
    `setup: ${inCI ? "in CI this is an error" : "going on without; what can not run is skipped, and said"}`,
  );
  Deno.exit(inCI ? 1 : 0);
}

async function setup(purpose: For): Promise<void> {
  const wanted = await missing(purpose);
  if (!wanted) giveUp(`there is no dpkg-query; on Debian this would install ${namesOf(purpose)}`);
  if (wanted.length === 0) return console.error("setup: everything is installed");

  const width = Math.max(...wanted.map((item) => item.name.length));
  console.error(`setup: ${NEEDS[purpose]}, through apt:`);
  for (const item of wanted) console.error(`  ${item.name.padEnd(width)}  ${item.why}`);

  const names = wanted.map((item) => item.name);
  if (Deno.uid() !== 0) {
    giveUp(`not root; run: sudo apt-get update && sudo apt-get install --no-install-recommends ${names.join(" ")}`);
  }

  console.error("setup: installing (this can take some minutes) …");
  await capture("apt-get", ["update", "-qq"]); // one dead source among many is no reason to stop: the install decides
  const options = ["-y", "-qq", "--no-install-recommends", "--no-remove", "-o", "Acquire::Retries=3"];
  const install = await capture("apt-get", ["install", ...options, ...names]);
  if (!install) giveUp("there is no apt-get");
  if (!install.success) giveUp(`apt-get install failed:\n${install.text.trimEnd()}`);
  console.error("setup: done");
}

function namesOf(purpose: For): string {
  return PACKAGES.filter((item) => item.for.includes(purpose)).map((item) => item.name).join(" ");
}

const purpose = Deno.args[0] ?? "test";
if (!Object.hasOwn(NEEDS, purpose)) {
  console.error(`setup: expected ${Object.keys(NEEDS).join(", ")}, not ${purpose}`);
  Deno.exit(2);
}
await setup(purpose as For);
