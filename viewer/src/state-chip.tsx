import type { Tone } from "./trace-facts.ts";

/** A state in words; what runs or waits has a dot, what failed the colour of errors. */
export function StateChip({ state, tone }: { readonly state: string; readonly tone: Tone }) {
  return (
    <span class={`chip ${tone}`} data-testid="state" data-tone={tone}>
      {state}
    </span>
  );
}
