/** What is set up for, and how that is said. */
export const NEEDS = {
  demo: "the demo needs",
  test: "the tests need",
  bench: "the bench needs",
  aarch64: "the tests on aarch64 need",
  guest: "the guest of the tests needs",
  inference: "the examples of inference need",
  intel: "the tests on Intel's OpenCL need",
  sycl: "the tests on Intel's SYCL need",
} as const;

/** One of {@linkcode NEEDS}. */
export type Purpose = keyof typeof NEEDS;
