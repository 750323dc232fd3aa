import { escapeHtml } from '../../docs/html.js';
import { sitePage } from '../../docs/site.js';
import type { Trouble } from './trouble.js';

export interface Field {
  readonly name: string;
  readonly label: string;
  readonly type: 'email' | 'password' | 'text';
  readonly autocomplete: string;
  readonly hint?: string;
  readonly minLength?: number;
}

export interface FormView {
  readonly title: string;
  readonly action: string;
  readonly submit: string;
  readonly fields?: readonly Field[];
  /** What was typed, by field; a password is never shown again. */
  readonly values?: Readonly<Record<string, unknown>>;
  readonly hidden?: Readonly<Record<string, string>>;
  readonly trouble?: Trouble | undefined;
  /** Markup above and below the form. */
  readonly intro?: string;
  readonly outro?: string;
}

/** A page with one form. What is wrong stands above it, with a link to each field, and at the field. */
export function formPage(view: FormView): string {
  const { title, trouble, intro = '', outro = '' } = view;
  return sitePage({
    title: trouble === undefined ? title : `Error: ${title}`,
    body: `<h1>${escapeHtml(title)}</h1>
${trouble === undefined ? '' : summary(trouble)}
${intro}
${form(view)}
${outro}`,
    width: 'form',
  });
}

/** A form alone. */
export function form({ action, submit, fields = [], values = {}, hidden = {}, trouble }: FormView): string {
  const kept = Object.entries(hidden).filter(([, value]) => value !== '');
  return `<form method="post" action="${escapeHtml(action)}">
${kept.map(([name, value]) => `<input type="hidden" name="${escapeHtml(name)}" value="${escapeHtml(value)}">`).join('\n')}
${fields.map((field) => control(field, values[field.name], trouble?.fields[field.name])).join('\n')}
<button type="submit">${escapeHtml(submit)}</button>
</form>`;
}

/** Takes the focus, so that a screen reader reads it first. */
export function summary({ messages, fields }: Trouble): string {
  const items = [
    ...messages.map(escapeHtml),
    ...Object.entries(fields).map(([name, message]) => `<a href="#${escapeHtml(name)}">${escapeHtml(message)}</a>`),
  ];
  return `<div class="trouble" role="alert" tabindex="-1" autofocus>
<h2>That did not work</h2>
<ul>${items.map((item) => `<li>${item}</li>`).join('')}</ul>
</div>`;
}

function control(field: Field, value: unknown, fault: string | undefined): string {
  const { name, label, type, autocomplete, hint, minLength } = field;
  const described = [
    ...(hint === undefined ? [] : [{ id: `${name}-hint`, kind: 'hint', text: hint }]),
    ...(fault === undefined ? [] : [{ id: `${name}-fault`, kind: 'fault', text: fault }]),
  ];
  const attributes = {
    id: name,
    name,
    type,
    autocomplete,
    ...(minLength === undefined ? {} : { minlength: String(minLength) }),
    ...(type === 'password' || typeof value !== 'string' ? {} : { value }),
    ...(described.length === 0 ? {} : { 'aria-describedby': described.map(({ id }) => id).join(' ') }),
    ...(fault === undefined ? {} : { 'aria-invalid': 'true' }),
    ...(type === 'text' ? {} : { autocapitalize: 'none', spellcheck: 'false' }),
  };
  const written = Object.entries(attributes).map(([key, text]) => `${key}="${escapeHtml(text)}"`);
  return `<div class="field">
<label for="${name}">${escapeHtml(label)}</label>
${described.map(({ id, kind, text }) => `<p class="${kind}" id="${id}">${escapeHtml(text)}</p>`).join('\n')}
<input ${written.join(' ')} required>
</div>`;
}
