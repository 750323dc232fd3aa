import type { ComponentChildren, InputHTMLAttributes, VNode } from 'preact';
import { sitePage } from '../page/site.js';
import type { FormErrors } from './form-errors.js';

export interface Field {
  readonly name: string;
  readonly label: string;
  readonly type: 'email' | 'password' | 'text';
  readonly autocomplete: string;
  readonly hint?: string;
  readonly optional?: boolean;
  readonly inputMode?: 'numeric';
  readonly minLength?: number;
}

interface FormView {
  readonly title: string;
  readonly action: string;
  readonly submit: string;
  /** What the button acts on, for people who do not see the row of a table in which it is. */
  readonly subject?: string;
  readonly fields?: readonly Field[];
  /** Entered values by field. Passwords are never shown again. */
  readonly values?: Readonly<Record<string, unknown>>;
  readonly hidden?: Readonly<Record<string, string>>;
  readonly errors?: FormErrors | undefined;
  /** Prefix of the fields' ids, on pages with several forms. */
  readonly idPrefix?: string;
  /** Content between the fields and the button. */
  readonly children?: ComponentChildren;
  /** Content above the form (`intro`) and below it (`outro`). */
  readonly intro?: ComponentChildren;
  readonly outro?: ComponentChildren;
  /** URLs of the page's scripts. */
  readonly scripts?: readonly string[];
}

/** Renders a page with one form. Errors are listed above the form with links to the fields, and shown at the fields. */
export function formPage(view: FormView): string {
  const { title, errors, intro, outro, scripts } = view;
  return sitePage({
    title: errors === undefined ? title : `Error: ${title}`,
    width: 'form',
    scripts,
    children: (
      <>
        <h1>{title}</h1>
        {errors && <Summary {...errors} />}
        {intro}
        <Form {...view} />
        {outro}
      </>
    ),
  });
}

/** Renders a form without a page. */
export function Form(view: FormView): VNode {
  const { action, submit, subject, fields = [], values = {}, hidden = {}, errors, idPrefix = '', children } = view;
  const kept = Object.entries(hidden).filter(([, value]) => value !== '');
  return (
    <form method="post" action={action}>
      {kept.map(([name, value]) => (
        <input key={name} type="hidden" name={name} value={value} />
      ))}
      {fields.map((field) => (
        <Control
          key={field.name}
          field={field}
          id={idPrefix + field.name}
          value={values[field.name]}
          fault={errors?.fields[field.name]}
        />
      ))}
      {children}
      <button type="submit">
        {submit}
        {subject && <span class="unseen"> {subject}</span>}
      </button>
    </form>
  );
}

/** Renders the error summary. It takes the focus, so that screen readers read it first. */
export function Summary({ messages, fields }: Pick<FormErrors, 'messages' | 'fields'>): VNode {
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
  readonly id: string;
  readonly value: unknown;
  readonly fault: string | undefined;
}

function Control({ field, id, value, fault }: ControlParts): VNode {
  const { name, label, type, autocomplete, hint, minLength, optional = false, inputMode } = field;
  const described = [hint && `${id}-hint`, fault && `${id}-fault`].filter(Boolean).join(' ');
  // The attribute types differ between kinds of input, and the kind is known only at run time.
  const attributes = {
    type,
    id,
    name,
    autocomplete,
    minLength,
    value: type === 'password' || typeof value !== 'string' ? undefined : value,
    'aria-describedby': described || undefined,
    'aria-invalid': fault === undefined ? undefined : 'true',
    ...(type === 'text' ? {} : { autocapitalize: 'none', spellcheck: false }),
    required: !optional,
    inputMode,
  } as InputHTMLAttributes;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {fault && (
        <p class="fault" id={`${id}-fault`}>
          {fault}
        </p>
      )}
      <input {...attributes} />
    </div>
  );
}
