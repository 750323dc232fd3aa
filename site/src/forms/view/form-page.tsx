import type { FormSubmission } from '@commonplace/proto/resources/v1/form.js';
import { type FormPage, FormPageState } from '@commonplace/proto/resources/v1/form_page_service.js';
import type { ComponentChildren, VNode } from 'preact';
import { FORM_SCRIPT } from '../../page/assets.js';
import { markdownHtml } from '../../page/markdown.js';
import { renderPage } from '../../page/page.js';
import { PlainHead } from '../../reader/view/head.js';
import { conditionText } from './condition.js';
import { Field } from './field.js';

/** The values entered in a form and their faults. */
export interface FormAnswers {
  /** Texts by field id, in the form in which a browser sends them. */
  readonly values: ReadonlyMap<string, readonly string[]>;
  /** Fault messages by field id. */
  readonly faults: ReadonlyMap<string, string>;
  /** Messages that do not belong to a single field. */
  readonly messages: readonly string[];
}

export interface FormParts {
  readonly form: FormPage;
  /** Path of the page itself, to which the form is posted. */
  readonly action: string;
  readonly submissionId: string;
  readonly nonce: string;
  readonly answers: FormAnswers;
  /** Maximum size of a submission in bytes. */
  readonly bodyBytes: number;
}

/** Renders a form for people without an account. It works without scripts. */
export function formPage({ form, action, submissionId, nonce, answers, bodyBytes }: FormParts): string {
  const { title, description, fields, submitLabel, language, credential, captchaBits, captchaChallenge } = form;
  const { values, faults, messages } = answers;
  const wrong = faults.size + messages.length > 0;
  const uploads = fields.some(({ type }) => type === 'file');
  return page({
    title: wrong ? `Error: ${title}` : title,
    language,
    script: { nonce },
    children: (
      <>
        <h1>{title}</h1>
        {description && <Description text={description} />}
        {wrong && <Wrong form={form} faults={faults} messages={messages} />}
        <form
          method="post"
          action={action}
          enctype={uploads ? 'multipart/form-data' : undefined}
          noValidate
          data-form
          data-max-bytes={uploads ? bodyBytes : undefined}
          data-too-large={uploads ? tooLargeText(bodyBytes) : undefined}
          data-captcha={captchaBits}
          data-challenge={captchaChallenge || undefined}
        >
          <input type="hidden" name="credential" value={credential} />
          <input type="hidden" name="submission_id" value={submissionId} />
          {captchaBits > 0 && (
            <>
              <input type="hidden" name="captcha_token" value="" />
              <noscript>
                <p class="trouble">This form can only be sent with scripts switched on.</p>
              </noscript>
            </>
          )}
          {fields.some(({ required }) => required) && (
            <p class="soft">
              Fields with <span class="needed">*</span> are required.
            </p>
          )}
          {fields.map((field) => (
            <Field
              key={field.id}
              field={field}
              values={values.get(field.id)}
              fault={faults.get(field.id)}
              condition={conditionText(field.visibleIf, fields)}
            />
          ))}
          <button type="submit">{submitLabel || 'Send'}</button>
          <p role="status" class="soft" />
        </form>
      </>
    ),
  });
}

export const tooLargeText = (bodyBytes: number): string =>
  `The files are too large: at most ${Math.floor(bodyBytes / (1024 * 1024))} MiB all together.`;

/** Renders the error summary. It takes the focus, so that screen readers read it first. */
function Wrong({ form: { fields }, faults, messages }: Pick<FormParts, 'form'> & Omit<FormAnswers, 'values'>): VNode {
  const found = fields.filter(({ id }) => faults.has(id));
  return (
    <div class="trouble" role="alert" tabIndex={-1} autofocus>
      <h2>This was not sent</h2>
      <ul>
        {messages.map((message) => (
          <li key={message}>{message}</li>
        ))}
        {found.map(({ id, label }) => (
          <li key={id}>
            <a href={`#f-${id}`}>{headline(label, faults.get(id) ?? '')}</a>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Prefixes a fault with the label of its field, unless it already begins with the label. */
const headline = (label: string, fault: string): string => (fault.startsWith(label) ? fault : `${label}: ${fault}`);

function Description({ text }: { text: string }): VNode {
  // HTML within the text is escaped.
  return <div class="prose" dir="auto" dangerouslySetInnerHTML={{ __html: markdownHtml(text) }} />;
}

/** Renders the page of a form that currently accepts no answers. */
export function closedPage({ title, language, state }: FormPage): string {
  return page({
    title,
    language,
    children: (
      <>
        <h1>{title}</h1>
        <p class="notice">{CLOSED[state] ?? CLOSED[FormPageState.INACTIVE]}</p>
      </>
    ),
  });
}

const CLOSED: Partial<Record<FormPageState, string>> = {
  [FormPageState.INACTIVE]: 'This form takes no answers at the moment.',
  [FormPageState.CLOSED]: 'This form is closed. It takes no more answers.',
  [FormPageState.FULL]: 'This form has had as many answers as it takes.',
};

export function noFormPage(): string {
  return page({
    title: 'Not found',
    children: (
      <>
        <h1>There is no such form</h1>
        <p>The link may be misspelt, or the form was taken away.</p>
      </>
    ),
  });
}

export function formFailurePage(message: string): string {
  return page({
    title: 'Error',
    children: (
      <>
        <h1>Sorry</h1>
        <p class="trouble" role="alert">
          {message}
        </p>
      </>
    ),
  });
}

/** Renders the confirmation that the answers were received. Redirects if the form is configured to. */
export function sentPage({ successMessage, redirectUrl }: FormSubmission, form: FormPage | undefined): string {
  return page({
    title: 'Sent',
    language: form?.language,
    // A refresh is used because the `form-action` policy also applies to redirects after a form's submission.
    head: redirectUrl && <meta http-equiv="refresh" content={`0;url=${redirectUrl}`} />,
    children: (
      <>
        <h1>{form?.title ?? 'Thank you'}</h1>
        <p class="notice lead" role="status">
          {successMessage || 'Thank you. Your answers have been received.'}
        </p>
        {redirectUrl && (
          <p>
            <a href={redirectUrl} rel="noopener noreferrer">
              Continue to {new URL(redirectUrl).host}
            </a>
          </p>
        )}
      </>
    ),
  });
}

interface PageShape {
  readonly title: string;
  readonly language?: string | undefined;
  readonly script?: { readonly nonce: string };
  readonly head?: ComponentChildren;
  readonly children: ComponentChildren;
}

function page({ title, language, script, head, children }: PageShape): string {
  return renderPage({
    title,
    kind: 'form wide',
    language: language || 'en',
    scripts: script === undefined ? [] : [FORM_SCRIPT.path],
    nonce: script?.nonce,
    head: [<PlainHead key="plain" />, head],
    children: <main id="main">{children}</main>,
  });
}
