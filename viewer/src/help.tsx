import type { Signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { keys } from "./keyboard.ts";

/** All keys. */
export function Help({ open }: { readonly open: Signal<boolean> }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const isOpen = open.value;
  useEffect(() => {
    if (isOpen) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isOpen]);
  const close = () => {
    open.value = false;
  };
  return (
    <dialog ref={dialog} class="help" data-testid="help-dialog" onClose={close}>
      <h2>Keys</h2>
      <dl>
        {keys.map(([key, meaning]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      <button type="button" onClick={close}>
        Close
      </button>
    </dialog>
  );
}
