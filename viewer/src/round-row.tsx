import { roundFacts } from "./round-facts.ts";
import { type RowProps, Toggle, toggle } from "./span-row.tsx";

/** A round: a quiet divider that carries how full the context was. */
export function RoundRow({ state, selection, index, span }: RowProps) {
  const facts = roundFacts(state.tree.value, index);
  const isOpen = !state.collapsed.value.has(span.id);
  const isSelected = state.selected.value === span.id;
  return (
    <div
      class={isSelected ? "row round selected" : "row round"}
      role="treeitem"
      tabIndex={-1}
      aria-selected={isSelected}
      aria-expanded={isOpen}
      data-testid="round-row"
      data-span-id={span.id}
      onClick={() => selection.select(span.id)}
      onKeyDown={undefined}
    >
      <Toggle open={isOpen} branch={true} onToggle={() => toggle(selection, state, index)} />
      <span class={span.error === "" ? "" : "error"}>{facts.label}</span>
      {facts.parts.length === 0 ? null : (
        <div class="budget" title="Context: fixed part, history, folded or spilled" data-testid="context-bar">
          {facts.parts.map(({ name, percent }) => (
            <i key={name} class={name} style={{ width: `${percent}%` }} />
          ))}
        </div>
      )}
    </div>
  );
}
