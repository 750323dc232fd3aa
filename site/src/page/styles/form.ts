/** Styles of form fields and their errors, and of the hosted form. */
export const FORM = `
.field { margin: 1.5rem 0; padding: 0; border: 0; min-width: 0; }
.field > :is(label, legend) { display: block; font-weight: 600; padding: 0; overflow-wrap: anywhere; }
.field > label + :is(input, textarea, select) { margin-top: .25rem; }
.hint, .fault { margin: .125rem 0 .375rem; font-size: .9rem; }
.hint, .other { color: var(--soft); }
.fault { color: var(--bad); font-weight: 600; }
.needed { color: var(--bad); }
:is(.field, .find, .filter) :is(input, textarea, select) {
  width: 100%; padding: .6rem .75rem; font: inherit; color: inherit;
  background: var(--page); border: 1px solid var(--line); border-radius: var(--round);
}
.field :is([type="checkbox"], [type="radio"]) {
  width: 1.25rem; height: 1.25rem; margin: 0; flex: none; accent-color: var(--accent);
}
::placeholder { color: var(--soft); opacity: 1; }
.field textarea { min-height: 7rem; resize: vertical; }
.field [aria-invalid] { border: 2px solid var(--bad); }
.field > label.choice, .choice { display: flex; gap: .625rem; align-items: center; padding: .4rem 0; font-weight: 400; }
.choice { overflow-wrap: anywhere; }
.scale { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; }
.scale .choice {
  position: relative; min-width: 2.75rem; justify-content: center; padding: .5rem;
  border: 1px solid var(--line); border-radius: var(--round); cursor: pointer;
}
.scale .choice:has(:checked) { background: var(--accent); border-color: var(--accent); color: var(--on-accent); }
.scale .choice:has(:focus-visible) { outline: 3px solid var(--accent); outline-offset: 2px; }
.scale .choice input { position: absolute; opacity: 0; inset: 0; width: 100%; height: 100%; cursor: pointer; }
.field[hidden] { display: none; }
.trap { position: absolute; left: -100vw; width: 1px; overflow: hidden; }
.other { margin-top: 1.5rem; }
.other button { color: var(--accent); background: none; }
.statement { margin: 1.5rem 0; padding: .75rem 1rem; background: var(--panel); border-radius: var(--round); white-space: pre-line; }
.lead { white-space: pre-line; }
`;
