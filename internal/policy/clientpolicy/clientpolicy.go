// Package clientpolicy writes a policy in the forms other parties know: the allow and
// deny lists of an agent's manifest, and the validation and snapshot that SDKs keep
// beside a plan.
//
// What a form cannot express is refused or made stricter, never looser. The property
// tests check that for every form.
package clientpolicy
