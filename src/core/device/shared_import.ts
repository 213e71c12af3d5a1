import type { Import } from "../memory/imports.ts";
import type { Call, StepSide } from "../contract.ts";

/** A native object over another API's memory, which several maps use at once: the last of them hands it back. */
export abstract class SharedImport<L> implements Import {
  /** True from the first map's acquire to the last one's release. */
  protected isAcquired = false;
  #maps = 0;

  /** Releases the object; no map uses it. Where a map has failed, it may still be acquired. */
  abstract release(): void;

  /** How one more map uses it. `kept` says that it outlives the map; otherwise the map's end releases it. */
  use(kept: boolean): Required<Pick<StepSide, "begin" | "end" | "release">> {
    this.#maps++;
    return {
      begin: () => this.isAcquired ? this.again : this.hand(true),
      end: () => {
        const release = this.hand(false);
        return { ...release, call: (lane: L) => (this.#maps > 1 ? this.mark : release).call(lane) };
      },
      release: () => {
        this.#maps--;
        if (!kept) this.release();
      },
    };
  }

  /** The command that acquires the object, or hands it back. It sets `isAcquired` once the driver has taken it. */
  protected abstract hand(acquires: boolean): Call<L>;

  /** What a map begins with where another has acquired the object. */
  protected abstract readonly again: Call<L> | undefined;

  /** What stands for handing it back where another map uses it. */
  protected abstract readonly mark: Call<L>;
}
