import type { FormPageField } from '@commonplace/proto/resources/v1/form_page_service.js';
import type { InputHTMLAttributes, VNode } from 'preact';
import { jsonOf } from './condition.js';

interface FieldParts {
  readonly field: FormPageField;
  /** Entered values; undefined before the first submission. */
  readonly values: readonly string[] | undefined;
  readonly fault: string | undefined;
  readonly condition: string | undefined;
}

/** Renders a question with its control, its help text and the fault of its answer. */
export function Field(parts: FieldParts): VNode {
  const { field } = parts;
  const { id, type, label, helpText } = field;
  const rule = field.visibleIf;
  const data = {
    'data-field': id,
    'data-kind': type,
    'data-if': rule && JSON.stringify({ field_id: rule.fieldId, op: rule.op, value: jsonOf(rule.value) }),
  };
  if (type === 'statement') {
    return (
      <div class="statement" {...data}>
        <strong>{label}</strong>
        {helpText && <div>{helpText}</div>}
      </div>
    );
  }
  const values = parts.values ?? textsOf(jsonOf(field.default));
  if (type === 'hidden') return <input type="hidden" name={`f.${id}`} value={values[0] ?? ''} />;
  const around = <Around {...parts} />;
  if (GROUPS.has(type)) {
    return (
      <fieldset class="field" id={`f-${id}`} tabIndex={-1} aria-describedby={describedBy(parts)} {...data}>
        <legend>
          <Label {...field} />
        </legend>
        {around}
        <Choices {...parts} values={values} />
      </fieldset>
    );
  }
  return (
    <div class="field" {...data}>
      {type === 'checkbox' ? (
        <>
          {around}
          <label class="choice" for={`f-${id}`}>
            <Control {...parts} values={values} />
            <span>
              <Label {...field} />
            </span>
          </label>
        </>
      ) : (
        <>
          <label for={`f-${id}`}>
            <Label {...field} />
          </label>
          {around}
          <Control {...parts} values={values} />
        </>
      )}
    </div>
  );
}

/** Types of questions that consist of several controls. */
const GROUPS = new Set(['single_choice', 'multi_choice', 'rating', 'scale']);

function Label({ label, required }: Pick<FormPageField, 'label' | 'required'>): VNode {
  return (
    <>
      {label}
      {required && (
        <span class="needed">
          <span aria-hidden="true"> *</span>
          <span class="unseen"> (required)</span>
        </span>
      )}
    </>
  );
}

/** Renders the texts between a question and its control: condition, help and fault. */
function Around({ field, fault, condition }: FieldParts): VNode {
  const { id, helpText, type } = field;
  return (
    <>
      {condition && (
        <p class="hint" data-plain>
          {condition}
        </p>
      )}
      {helpText && (
        <p class="hint" id={`f-${id}-help`}>
          {helpText}
        </p>
      )}
      {type === 'datetime' && (
        <p class="hint" data-plain>
          The time is that of UTC.
        </p>
      )}
      {fault && (
        <p class="fault" id={`f-${id}-fault`}>
          {fault}
        </p>
      )}
    </>
  );
}

function describedBy({ field: { id, helpText }, fault }: FieldParts): string | undefined {
  const ids = [helpText && `f-${id}-help`, fault && `f-${id}-fault`].filter(Boolean);
  return ids.length === 0 ? undefined : ids.join(' ');
}

const INPUTS: Readonly<Record<string, InputHTMLAttributes>> = {
  short_text: { type: 'text', dir: 'auto' },
  email: { type: 'email', autocomplete: 'email' },
  url: { type: 'url', autocomplete: 'url' },
  phone: { type: 'tel', autocomplete: 'tel' },
  number: { type: 'text', inputmode: 'decimal' },
  currency: { type: 'text', inputmode: 'decimal' },
  date: { type: 'date' },
  datetime: { type: 'datetime-local' },
  checkbox: { type: 'checkbox' },
  file: { type: 'file' },
  signature: { type: 'text', dir: 'auto', autocomplete: 'name' },
};

type ControlParts = Omit<FieldParts, 'values'> & { readonly values: readonly string[] };

function Control(parts: ControlParts): VNode {
  const { field, values, fault } = parts;
  const { id, type, placeholder, required, options } = field;
  const shared = {
    id: `f-${id}`,
    name: `f.${id}`,
    required,
    'aria-describedby': describedBy(parts),
    'aria-invalid': fault === undefined ? undefined : ('true' as const),
  };
  const [value = ''] = values;
  if (type === 'long_text') {
    return (
      <textarea {...shared} dir="auto" placeholder={placeholder} maxLength={field.maxLength} rows={5}>
        {value}
      </textarea>
    );
  }
  if (type === 'dropdown') {
    return (
      <select {...shared}>
        <option value="">{placeholder || 'Choose one'}</option>
        {options.map((option) => (
          <option key={option.id} value={option.value} selected={option.value === value}>
            {option.label}
          </option>
        ))}
      </select>
    );
  }
  // The attribute types differ between kinds of input, and the kind is known only at run time.
  const attributes = { type: 'text', ...INPUTS[type], ...shared, ...limitsOf(field) } as InputHTMLAttributes;
  if (type === 'checkbox') return <input {...attributes} value="on" checked={ON.has(value)} />;
  if (type === 'file') return <input {...attributes} />;
  if (type === 'datetime') {
    return (
      <>
        <input {...attributes} value={value} />
        <input type="hidden" name={`utc_offset.${id}`} value="0" data-clock={`f-${id}`} />
      </>
    );
  }
  return <input {...attributes} placeholder={placeholder} value={value} />;
}

/** Values that mean that a checkbox is ticked: the one that browsers send, and the one of a stored default. */
const ON = new Set(['on', 'true']);

/** Returns the limits that browsers can check. The server checks all of them again. */
function limitsOf({ type, min, max, maxLength, accept, maxFiles }: FormPageField): Record<string, unknown> {
  if (type === 'file') return { accept: accept.length === 0 ? undefined : accept.join(','), multiple: maxFiles !== 1 };
  if (type === 'checkbox') return {};
  return { min, max, maxLength };
}

function Choices(parts: ControlParts): VNode {
  const { field, values, fault } = parts;
  const { id, type } = field;
  const many = type === 'multi_choice';
  return (
    <div class={type === 'rating' || type === 'scale' ? 'scale' : undefined}>
      {optionsOf(field).map(({ value, label }, i) => (
        <label key={value} class="choice" for={`f-${id}-${i}`}>
          <input
            type={many ? 'checkbox' : 'radio'}
            id={`f-${id}-${i}`}
            name={`f.${id}`}
            value={value}
            checked={values.includes(value)}
            aria-invalid={fault === undefined ? undefined : 'true'}
            aria-describedby={fault === undefined ? undefined : `f-${id}-fault`}
          />
          <span>{label}</span>
        </label>
      ))}
    </div>
  );
}

/** Maximum number of steps for which a scale is drawn. */
const MAX_STEPS = 101;

function optionsOf({ type, options, min, max }: FormPageField): { value: string; label: string }[] {
  if (type !== 'rating' && type !== 'scale') return options;
  const first = min ?? (type === 'rating' ? 1 : 0);
  const last = Math.min(max ?? (type === 'rating' ? 5 : 10), first + MAX_STEPS - 1);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => ({
    value: `${first + i}`,
    label: `${first + i}`,
  }));
}

/** Converts a default value to the texts of its controls. */
function textsOf(value: unknown): string[] {
  if (value === undefined || value === null) return [];
  return [value].flat().map((one) => (typeof one === 'object' ? JSON.stringify(one) : String(one)));
}
