import type { VNode } from 'preact';

/** Renders the form for signing in with a passkey. The script of the page shows it if the browser supports passkeys. */
export function PasskeySignIn({ next }: { readonly next: string }): VNode {
  return (
    <form hidden method="post" data-passkey="sign-in" data-next={next}>
      <p class="fault" role="alert" hidden />
      <button type="submit">Sign in with a passkey</button>
    </form>
  );
}

/** Renders the form for adding a passkey. The script of the page shows it if the browser supports passkeys. */
export function PasskeyRegistration({ csrf, next }: { readonly csrf: string; readonly next: string }): VNode {
  return (
    <>
      <form hidden method="post" data-passkey="register" data-next={next} data-csrf={csrf}>
        <div class="field">
          <label for="new-passkey-name">Name of the passkey</label>
          <p class="hint" id="new-passkey-name-hint">
            Leave it empty for the name of this device.
          </p>
          <input
            type="text"
            id="new-passkey-name"
            name="name"
            maxLength={100}
            autocomplete="off"
            aria-describedby="new-passkey-name-hint"
          />
        </div>
        <p class="fault" role="alert" hidden />
        <button type="submit">Add a passkey</button>
      </form>
      <p data-passkey-missing="">A passkey can be added with a browser that has passkeys and runs scripts.</p>
    </>
  );
}

/** Explains why passkeys are not available on this server. */
export function NoPasskeyHost(): VNode {
  return <p>Passkeys need an address with a name and https, which this server does not have.</p>;
}
