import type { Script } from "@drover/testkit/scripted-model";

/** Declines, and touches nothing. */
export const cautious: Script = () => ({
  text: "I will not do this: it would delete other people's data, and nobody has said that it may be deleted.",
});
