// Prints what the compiler of the only driver says of a kernel that is broken.
import { LevelZeroBuildError, LevelZeroContext } from "../../../src/levelzero/mod.ts";
import { spirvOf } from "../spirv.ts";

using context = LevelZeroContext.open();
try {
  context.program(spirvOf([{ name: "broken", parameters: [] }]));
} catch (error) {
  if (!(error instanceof LevelZeroBuildError)) throw error;
  console.log(error.log);
}
