import type { ComponentChildren, InputHTMLAttributes, VNode } from 'preact';
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
  /** What stands above and below the form. */
  readonly intro?: ComponentChildren;
  readonly outro?: ComponentChildren;
}

/** A page with one form. What is wrong stands above it, with a link to each field, and at the field. */
export function formPage(view: FormView): string {
  const { title, trouble, intro, outro } = view;
  return sitePage({
    title: trouble === undefined ? title : `Error: ${title}`,
    width: 'form',
    children: (
      <>
        <h1>{title}</h1>
        {trouble && <Summary {...trouble} />}
        {intro}
        <Form {...view} />
        {outro}
      </>
    ),
  });
}

/** A form alone. */
export function Form({ action, submit, fields = [], values = {}, hidden = {}, trouble }: FormView): VNode {
  const kept = Object.entries(hidden).filter(([, value]) => value !== '');
  return (
    <form method="post" action={action}>
      {kept.map(([name, value]) => (
        <input key={name} type="hidden" name={name} value={value} />
      ))}
      {fields.map((field) => (
        <Control key={field.name} field={field} value={values[field.name]} fault={trouble?.fields[field.name]} />
      ))}
      <button type="submit">{submit}</button>
    </form>
  );
}

/** Takes the focus, so that a screen reader reads it first. */
export function Summary({ messages, fields }: Pick<Trouble, 'messages' | 'fields'>): VNode {
  return (
    <div class="trouble" role="alert" tabIndex={-1} autofocus>
      <h2>That did not work</h2>
      <ul>
        {messages.map((message) => (
          <li key={message}>{message}</li>
        ))}
        {Object.entries(fields).map(([name, message]) => (
          <li key={name}>
            <a href={`#${name}`}>{message}</a>
          </li>
        ))}
      </ul>
    </div>
  );
}

interface ControlParts {
  readonly field: Field;
  readonly value: unknown;
  readonly fault: string | undefined;
}

function Control({ field, value, fault }: ControlParts): VNode {
  const { name, label, type, autocomplete, hint, minLength } = field;
  const described = [hint && `${name}-hint`, fault && `${name}-fault`].filter(Boolean).join(' ');
  // The kinds of input differ in their types: which one this is, is not known before.
  const attributes = {
    type,
    id: name,
    name,
    autocomplete,
    minLength,
    value: type === 'password' || typeof value !== 'string' ? undefined : value,
    'aria-describedby': described || undefined,
    'aria-invalid': fault === undefined ? undefined : 'true',
    ...(type === 'text' ? {} : { autocapitalize: 'none', spellcheck: false }),
    required: true,
  } as InputHTMLAttributes;
  return (
    <div class="field">
      <label for={name}>{label}</label>
      {hint && (
        <p class="hint" id={`${name}-hint`}>
          {hint}
        </p>
      )}
      {fault && (
        <p class="fault" id={`${name}-fault`}>
          {fault}
        </p>
      )}
      <input {...attributes} />
    </div>
  );
}
