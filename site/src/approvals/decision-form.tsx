import { type Approval, ApprovalKind } from '@commonplace/proto/agents/v1/approval.js';
import type { VNode } from 'preact';
import type { FormErrors } from '../auth/form-errors.js';
import { ANSWER_FIELD, type AnswerField, answerFields, inputText } from './fields.js';
import { canBeRemembered } from './words.js';

/** The state of the page besides the approval. */
export interface PageState {
  readonly csrf: string;
  readonly errors?: FormErrors;
  /** Entered values, when the page is shown again after an error. */
  readonly values?: Readonly<Record<string, unknown>>;
}

type FormParts = PageState & { readonly approval: Approval };

/**
 * Renders the form of a decision. A question has fields for its answer; the input of any other approval can be edited.
 */
export function DecisionForm({ approval, csrf, errors, values = {} }: FormParts): VNode {
  const isQuestion = approval.kind === ApprovalKind.QUESTION;
  return (
    <form method="post" action={`/approvals/${approval.id}`} aria-label="Decision">
      <input type="hidden" name="csrf" value={csrf} />
      <h2>Your decision</h2>
      {isQuestion
        ? answerFields(approval).map((field) => <Answer key={field.name} field={field} values={values} />)
        : approval.input.length > 0 && <Input approval={approval} errors={errors} values={values} />}
      <div class="field">
        <label for="comment">Comment</label>
        <p class="hint" id="comment-hint">
          If you deny, the run receives it.
        </p>
        <textarea id="comment" name="comment" rows={2} maxLength={2000} aria-describedby="comment-hint">
          {String(values.comment ?? '')}
        </textarea>
      </div>
      {canBeRemembered(approval) && (
        <label class="choice">
          <input type="checkbox" name="remember" checked={values.remember === 'on'} /> Do not ask again for this tool in
          this run
        </label>
      )}
      <p class="buttons">
        <button type="submit" name="decision" value="approve">
          {isQuestion ? 'Answer' : 'Approve'}
        </button>{' '}
        <button type="submit" name="decision" value="deny" class="quiet" formNoValidate>
          Deny
        </button>
      </p>
    </form>
  );
}

interface FieldState {
  readonly values: Readonly<Record<string, unknown>>;
  readonly errors?: FormErrors | undefined;
}

function Input({ approval, errors, values }: FieldState & { readonly approval: Approval }): VNode {
  const fault = errors?.fields.input;
  const text = String(values.input ?? inputText(approval));
  return (
    <details open={fault !== undefined || values.input !== undefined}>
      <summary>Look at the input, or edit it</summary>
      <div class="field">
        <label for="input">Input of the tool, as JSON</label>
        {fault && (
          <p class="fault" id="input-fault">
            {fault}
          </p>
        )}
        <textarea
          id="input"
          name="input"
          rows={Math.min(text.split('\n').length + 1, 20)}
          spellcheck={false}
          aria-invalid={fault === undefined ? undefined : 'true'}
          aria-describedby={fault && 'input-fault'}
        >
          {text}
        </textarea>
      </div>
    </details>
  );
}

function Answer({ field, values }: Pick<FieldState, 'values'> & { readonly field: AnswerField }): VNode {
  const { name, label, hint, type, choices, isRequired } = field;
  const id = ANSWER_FIELD + name;
  const value = String(values[id] ?? '');
  const common = { id, name: id, 'aria-describedby': hint && `${id}-hint` };
  if (type === 'boolean') {
    return (
      <label class="choice">
        <input type="checkbox" {...common} checked={value === 'on'} /> {label}
      </label>
    );
  }
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {type === 'choice' ? (
        <select {...common} required={isRequired}>
          <option value="">Choose</option>
          {choices.map((choice) => (
            <option key={choice} value={choice} selected={choice === value}>
              {choice}
            </option>
          ))}
        </select>
      ) : (
        <input
          type="text"
          inputMode={type === 'number' ? 'decimal' : undefined}
          {...common}
          required={isRequired}
          value={value}
        />
      )}
    </div>
  );
}
