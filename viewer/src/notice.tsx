import type { ComponentChildren } from "preact";

/** A page, or part of one, that has nothing else to show: one sentence, and one action where one helps. */
export function Notice(props: {
  readonly state: "loading" | "empty" | "broken" | "disconnected";
  readonly title: string;
  readonly hint?: string;
  readonly children?: ComponentChildren;
}) {
  return (
    <div class={`notice ${props.state}`} data-testid={`notice-${props.state}`} role="status">
      <p class="notice-title">{props.title}</p>
      {props.hint === undefined ? null : <p class="notice-hint">{props.hint}</p>}
      {props.children}
    </div>
  );
}
