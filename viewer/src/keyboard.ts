/** What a key asks for. */
export type KeyAction =
  | { readonly kind: "select"; readonly row: number }
  | { readonly kind: "collapse"; readonly row: number }
  | { readonly kind: "expand"; readonly row: number }
  | { readonly kind: "open" }
  | { readonly kind: "close" }
  | { readonly kind: "search" }
  | { readonly kind: "next-error" }
  | { readonly kind: "follow" }
  | { readonly kind: "help" };

/** What a key's meaning depends on. */
export interface KeyState {
  readonly rows: number;
  /** Selected row, -1 for none. */
  readonly row: number;
  /** The selected row has children that are shown, or hidden; "leaf" where there are none. */
  readonly branch: "open" | "closed" | "leaf";
  /** Row of its parent, -1 at the top. */
  readonly parentRow: number;
  /** Rows that fit on the screen. */
  readonly page: number;
}

/** Every key, for the page of help. */
export const keys: readonly (readonly [string, string])[] = [
  ["↑ ↓", "Select the row above or below"],
  ["→", "Show what is inside, then go in"],
  ["←", "Hide what is inside, then go out"],
  ["Home End", "First and last row"],
  ["Enter", "Go to the details"],
  ["Esc", "Close, show all of the time, clear"],
  ["/", "Search"],
  ["e", "Next error"],
  ["f", "Follow what is new"],
  ["?", "This help"],
];

/** The meaning of a key, undefined for one that is not ours. The caller has ruled out text fields. */
export function actionOf(key: string, state: KeyState): KeyAction | undefined {
  const simple = simpleKeys[key];
  if (simple !== undefined) return { kind: simple };
  if (state.rows === 0) return undefined;
  if (key === "ArrowLeft") return leftOf(state);
  if (key === "ArrowRight") return rightOf(state);
  const row = targetRow(key, state);
  return row === undefined ? undefined : { kind: "select", row: Math.max(0, Math.min(state.rows - 1, row)) };
}

const simpleKeys: Readonly<Record<string, "open" | "close" | "search" | "next-error" | "follow" | "help">> = {
  Enter: "open",
  Escape: "close",
  "/": "search",
  e: "next-error",
  f: "follow",
  "?": "help",
};

function targetRow(key: string, { row, rows, page }: KeyState): number | undefined {
  switch (key) {
    case "ArrowDown":
    case "j":
      return row + 1;
    case "ArrowUp":
    case "k":
      return row < 0 ? 0 : row - 1;
    case "PageDown":
      return row + page;
    case "PageUp":
      return row - page;
    case "Home":
      return 0;
    case "End":
      return rows - 1;
    default:
      return undefined;
  }
}

function leftOf({ row, branch, parentRow }: KeyState): KeyAction {
  if (row < 0) return { kind: "select", row: 0 };
  if (branch === "open") return { kind: "collapse", row };
  return { kind: "select", row: parentRow < 0 ? row : parentRow };
}

function rightOf({ row, rows, branch }: KeyState): KeyAction {
  if (row < 0) return { kind: "select", row: 0 };
  if (branch === "closed") return { kind: "expand", row };
  return { kind: "select", row: branch === "open" ? Math.min(rows - 1, row + 1) : row };
}
